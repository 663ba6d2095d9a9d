import {
  type Context,
  type CoreObserved,
  coreDriverRef,
  type IncidentBoard,
  type LifecycleState,
  type NodeReport,
  type NodeReporter,
  type RanObserved,
  radioLink,
  ranDriverRef,
  subscribersRef,
  type TxGateState,
  timestampFromMs,
  txGateRef,
  untilAborted,
  usageLedgerRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'

/** Of those of one node. */
const MOST_INCIDENTS = 16

/** What this node tells of itself. What one of those that are asked does not tell is not known: its own health says why. */
export function nodeReporter(
  context: Context,
  lifecycle: { state(): Promise<LifecycleState> },
  look: RadioLook,
  incidents: IncidentBoard,
): NodeReporter {
  return {
    report: async (): Promise<NodeReport> => {
      const [state, gate, radio, counts, octets, backlog, outages] = await Promise.all([
        lifecycle.state(),
        gateOf(context),
        look(),
        known(context.maybe(subscribersRef)?.counts()),
        known(context.maybe(usageLedgerRef)?.today?.()),
        known(context.maybe(subscribersRef)?.backlog?.()),
        incidents.current(),
      ])
      const live = ['issued', 'in-use', 'suspended'] as const
      return {
        lifecycle: state,
        plmn: formatPlmn(context.settings.plmn),
        on_air: gate === undefined ? null : gate.armed,
        radio_connected: radio.isConnected,
        channel: gate?.radio === undefined ? null : `${gate.radio.technology} ${gate.radio.channel}`,
        phones: radio.attachedUes,
        sims: counts === undefined ? null : live.reduce((sum, one) => sum + (counts.get(one) ?? 0), 0),
        octets_today: octets ?? null,
        backlog: backlog ?? null,
        incidents: outages.slice(0, MOST_INCIDENTS).map(({ kind, severity, title, sinceMs }) => ({
          ...{ kind, severity, title },
          since: timestampFromMs(sinceMs),
        })),
      }
    },
  }
}

/** Without a gate nothing is permitted; undefined while it cannot judge. */
async function gateOf(context: Context): Promise<Pick<TxGateState, 'armed' | 'radio'> | undefined> {
  const gate = context.maybe(txGateRef)
  return gate === undefined ? { armed: false } : await known(gate.state())
}

async function known<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  return await answer?.catch(() => undefined)
}

/** What the status says of radio and phones. Null is not known: neither the core nor an own radio tells. */
interface RadioView {
  readonly isConnected: boolean | null
  readonly mode: 'lte' | 'nr' | 'none' | null
  readonly attachedUes: number | null
  /** Networks (`999-99`) that connected base stations announce instead of this one. */
  readonly otherNetworks: readonly string[]
}

/** Gives the view, observed anew at most every `VIEW_MS`. */
export type RadioLook = () => Promise<RadioView>

const VIEW_MS = 2_000
const LOOK_BOUND_MS = 1_000
/** What a driver that is late has told last counts so long: on a busy machine it is no unknown radio. */
const LATE_MS = 30_000

/**
 * Makes a look at the drivers for radio and core, whichever are loaded.
 *
 * Requests share one look. What a driver that fails would tell is not known, and so is what one has not told for half a minute that
 * does not answer within a second. Its own health check says why.
 */
export function createRadioLook(context: Context): RadioLook {
  let last: { readonly atMs: number; readonly view: Promise<RadioView> } | undefined
  // Who is told that the radio is another, or that a phone came or went, asks at once.
  for (const type of ['ran.state', 'sim.attached', 'sim.detached', 'sim.many']) {
    const forget = async (): Promise<void> => {
      last = undefined
    }
    context.on(type, forget, 'each')
  }
  const eyes = { radio: patientEye<RanObserved>(context), core: patientEye<CoreObserved>(context) }
  return async () => {
    const nowMs = context.clock.monotonicMs()
    if (last === undefined || nowMs - last.atMs >= VIEW_MS) last = { atMs: nowMs, view: look(context, eyes) }
    return last.view
  }
}

async function look(
  context: Context,
  eyes: { readonly radio: Eye<RanObserved>; readonly core: Eye<CoreObserved> },
): Promise<RadioView> {
  const [driver, core] = await Promise.all([
    eyes.radio(context.maybe(ranDriverRef)),
    eyes.core(context.maybe(coreDriverRef)),
  ])
  const own = driver?.mode === 'none' ? undefined : driver
  const { isConnected = null } = radioLink(driver, core)
  return {
    isConnected,
    mode: own?.mode ?? core?.technology ?? (isConnected === null ? null : 'none'),
    attachedUes: core?.attachedUes ?? own?.attachedUes ?? null,
    // Besides its own a core may serve others.
    otherNetworks: (core?.radios === 0 && core.otherNetworks) || [],
  }
}

/** What a driver sees; undefined when there is none, or it fails or says nothing for long. */
type Eye<Seen> = (driver: Observer<Seen> | undefined) => Promise<Seen | undefined>

interface Observer<Seen> {
  observe(signal: AbortSignal): Promise<Seen>
}

/** Goes by what the same driver has told last while its answer is late. */
function patientEye<Seen>({ clock, retiring }: Context): Eye<Seen> {
  let last: { readonly by: Observer<Seen>; readonly atMs: number; readonly seen: Seen } | undefined
  return async (driver) => {
    if (driver === undefined) return undefined
    const late = AbortSignal.timeout(LOOK_BOUND_MS)
    const signal = AbortSignal.any([retiring, late])
    try {
      const seen = await untilAborted(driver.observe(signal), signal)
      last = { by: driver, atMs: clock.monotonicMs(), seen }
      return seen
    } catch {
      const isKept = late.aborted && last?.by === driver && clock.monotonicMs() - last.atMs < LATE_MS
      return isKept ? last?.seen : undefined
    }
  }
}
