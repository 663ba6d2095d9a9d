import {
  type ComponentHealth,
  type Context,
  coreDriverRef,
  msFromDuration,
  type RadioFallback,
  type RadioProfile,
  type RanDriver,
  type Settings,
  southboundUnavailable,
  txNotArmed,
} from '@steeple/contracts'
import { requirePermit } from '../supervisor/desired-radio.ts'
import { channelProblem, channelText, type Deviation } from './cell-channel.ts'
import type { CellVerdict } from './cell-verdict.ts'
import type { CellSnapshot, ExternalCell } from './external-cell.ts'

type Cell = Pick<ExternalCell, 'snapshot' | 'step' | 'hold' | 'resume' | 'technology'>

/** What keeps a cell from being switched on: what could not be undone, or not be known. */
function switchProblems(context: Pick<Context, 'maybe' | 'settings'>, { look, verdict }: CellSnapshot) {
  const reading = look?.reading
  if (reading === undefined) return [verdict.because]
  if ('unknown' in reading) return [`its switch does not say what it does: ${reading.unknown}`]
  if (reading.meter !== undefined || context.maybe(coreDriverRef)?.stations !== undefined) return []
  return [
    'nothing could prove that it is off: the switch reads no power, and there is no core that lists its base stations',
  ]
}

/** Whether the switch turns the cell off by itself. A cell behind GenieACS is never told again, so its timer would end it. */
function hasTimer({ refresh, switch: how }: Settings['ran']['external']): boolean {
  return !('genieacs' in how) && (msFromDuration(refresh) ?? 0) > 0
}

/** What the operator must have settled for the case that this machine fails while the cell is on. */
function leaseProblems({ settings: { ran } }: Pick<Context, 'settings'>): readonly string[] {
  const { stays_on: isAccepted, switch: how } = ran.external
  if (isAccepted || hasTimer(ran.external)) return []
  return [
    'genieacs' in how
      ? 'it stays on when this machine fails: GenieACS repeats no order, so accept it with ran.external.stays_on'
      : 'it stays on when this machine fails: set ran.external.refresh for a switch with a timer of its own, ' +
        'or accept it with ran.external.stays_on',
  ]
}

/** What becomes of the cell when this machine fails. */
function fallbackOf({ settings: { ran } }: Pick<Context, 'settings'>): RadioFallback {
  const { refresh } = ran.external
  return hasTimer(ran.external)
    ? {
        kind: 'timer',
        detail: `the timer of its switch turns the cell off: it is told every ${refresh} that it be on`,
      }
    : { kind: 'none', detail: 'the cell stays on: its switch has no timer (ran.external.refresh)' }
}

function configurationProblems(cell: Cell, { technology, channel }: RadioProfile): readonly string[] {
  if (technology !== cell.technology)
    return [`the cell is of ${cell.technology} (ran.external.technology), and the profile is ${technology}`]
  const reading = cell.snapshot().look?.reading
  const reported = reading === undefined || 'unknown' in reading ? undefined : reading.channel
  const problem = channelProblem(reported, channel)
  return problem === undefined ? [] : [problem]
}

/** The driver of an external cell. */
export function externalDriver(context: Pick<Context, 'use' | 'maybe' | 'settings'>, cell: Cell): RanDriver {
  let stops = 0
  return {
    problems: (profile) => [
      ...configurationProblems(cell, profile),
      ...switchProblems(context, cell.snapshot()),
      ...leaseProblems(context),
    ],
    rehearse: async (profile) => {
      await cell.step()
      const { openBecause } = cell.snapshot()
      return {
        program: 'external',
        files: [],
        checks: [
          { check: 'configuration', problems: configurationProblems(cell, profile) },
          { check: 'switch', problems: switchProblems(context, cell.snapshot()) },
          {
            check: 'core',
            problems: openBecause === undefined ? [] : [`the core is not closed to it: ${openBecause}`],
          },
          { check: 'lease', problems: leaseProblems(context) },
        ],
      }
    },
    deviations: ({ channel }) => {
      const found = cell.snapshot().deviationSinceArm
      return found?.wanted === channel ? [channelText(found)] : []
    },
    fallback: () => fallbackOf(context),
    observe: async (signal) => {
      signal.throwIfAborted()
      const { desired, look, verdict } = cell.snapshot()
      return {
        pid: undefined,
        power: verdict.state,
        isConnected: look?.sighting === 'seen',
        isWanted: desired?.isOn === true,
        attachedUes: 0,
        mode: cell.technology,
      }
    },
    start: async (profile, signal) => {
      signal.throwIfAborted()
      const before = stops
      await requirePermit(context, profile, 'cell')
      signal.throwIfAborted()
      if (stops !== before) throw txNotArmed('the cell stays off: it was stopped while it was to be started')
      cell.resume()
      await cell.step()
      const { state, problem, verdict } = cell.snapshot()
      if (['starting', 'radio_up', 's1_up', 's1_down'].includes(state)) return
      throw southboundUnavailable(`the cell has not been turned on: ${problem ?? verdict.because}`)
    },
    stop: async (signal) => {
      signal.throwIfAborted()
      stops += 1
      await cell.hold(signal)
    },
  }
}

/** `ran` of the health board: required while the cell should be on, or is not known to be off. */
export function externalHealth(context: Pick<Context, 'settings'>, snapshot: CellSnapshot): ComponentHealth {
  const { desired, verdict, isIncident } = snapshot
  const incident = isIncident
    ? 'cell_not_permitted'
    : snapshot.deviation !== undefined
      ? 'cell_other_channel'
      : 'no_radio'
  const required = desired?.isOn === true || verdict.state !== 'off'
  return { name: 'ran', kind: 'ran', required, incident, ...verdictOf(context, snapshot) }
}

function verdictOf(
  context: Pick<Context, 'settings'>,
  { state, desired, verdict, problem, openBecause, look, deviation }: CellSnapshot,
): Pick<ComponentHealth, 'status' | 'detail'> {
  const { because } = verdict
  const open =
    openBecause === undefined ? 'the core is closed to it' : `the core is not closed to it: ${openBecause}`
  if (state === 'not_permitted')
    return { status: 'down', detail: `a cell is on air that is not permitted: ${because}; ${open}` }
  if (deviation !== undefined) return otherChannel(deviation, verdict)
  if (desired?.isOn !== true)
    return verdict.state === 'off'
      ? { status: 'ok', detail: `off: ${because} (${desired?.reason ?? 'held off'}); ${open}` }
      : {
          status: 'down',
          detail: `the cell must be off and is not known to be: ${because}${said(problem)}`,
        }
  const lease = `if this machine fails, ${fallbackOf(context).detail}`
  const name = `cell with profile ${desired.profileId}`
  const reading = look?.reading
  const meter = reading !== undefined && 'meter' in reading ? reading.meter : undefined
  const shown = `${meter === undefined ? '' : `, ${meter.shown}`}${channelShown(look)}`
  switch (state) {
    case 's1_up':
      return meter?.isZero === true
        ? {
            status: 'degraded',
            detail: `${name} is connected to the core, but its switch reads ${meter.shown}; ${lease}`,
          }
        : { status: 'ok', detail: `${name} is on, connected to the core${shown}; ${lease}` }
    case 's1_down':
    case 'radio_up':
      return { status: 'degraded', detail: `${name} is on${shown}, but not connected to the core; ${lease}` }
    case 'starting':
      return { status: 'degraded', detail: `${name} is being turned on${said(problem)}` }
    default:
      return { status: 'down', detail: `${name} is not on${said(problem ?? because)}` }
  }
}

function otherChannel(
  deviation: Deviation,
  { state }: CellVerdict,
): Pick<ComponentHealth, 'status' | 'detail'> {
  const [status, end] =
    state === 'off' ? (['degraded', 'it is off'] as const) : (['down', 'it is told to go off'] as const)
  return {
    status,
    detail: `profile ${deviation.profileId} was disarmed: ${channelText(deviation)}; ${end}`,
  }
}

function channelShown(look: CellSnapshot['look']): string {
  if (look === undefined || 'unknown' in look.reading || look.reading.channel === undefined) return ''
  const { channel } = look.reading
  return 'unknown' in channel
    ? `, its channel is not known (${channel.unknown})`
    : `, channel ${channel.numbers.join(', ')}`
}

function said(problem: string | undefined): string {
  return problem === undefined ? '' : `: ${problem}`
}
