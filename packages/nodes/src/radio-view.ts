import { type Context, coreDriverRef, ranDriverRef, untilAborted } from '@steeple/contracts'

/** What the status says of radio and phones. Null is not known: neither the core nor an own radio tells. */
interface RadioView {
  readonly isConnected: boolean | null
  readonly mode: 'lte' | 'nr' | 'none' | null
  readonly attachedUes: number | null
}

/** Gives the view, observed anew at most every `VIEW_MS`. */
export type RadioLook = () => Promise<RadioView>

const VIEW_MS = 2_000
const LOOK_BOUND_MS = 1_000

/**
 * Makes a look at the drivers for radio and core, whichever are loaded.
 *
 * Requests share one look; what a driver that fails or does not answer within a second would tell is not known. Its
 * own health check says why.
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
  return async () => {
    const nowMs = context.clock.monotonicMs()
    if (last === undefined || nowMs - last.atMs >= VIEW_MS) last = { atMs: nowMs, view: look(context) }
    return last.view
  }
}

async function look(context: Context): Promise<RadioView> {
  const signal = AbortSignal.any([context.retiring, AbortSignal.timeout(LOOK_BOUND_MS)])
  const [driver, core] = await Promise.all([
    seenBy(context.maybe(ranDriverRef), signal),
    seenBy(context.maybe(coreDriverRef), signal),
  ])
  // Without a radio of its own the driver knows nothing: the core may know one of somebody else.
  const ran = driver?.mode === 'none' ? undefined : driver
  const radios = core?.radios
  return {
    isConnected: ran?.isConnected ?? (radios === undefined ? null : radios > 0),
    mode: ran?.mode ?? core?.technology ?? (radios === undefined ? null : 'none'),
    attachedUes: core?.attachedUes ?? ran?.attachedUes ?? null,
  }
}

/** What a driver sees; undefined when there is none, or it fails or takes too long. */
async function seenBy<T>(
  driver: { observe(signal: AbortSignal): Promise<T> } | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  return driver && (await untilAborted(driver.observe(signal), signal).catch(() => undefined))
}
