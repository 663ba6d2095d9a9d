import {
  type ComponentHealth,
  type Context,
  coreDriverRef,
  msFromDuration,
  type RadioProfile,
  type RanDriver,
  southboundUnavailable,
  txNotArmed,
} from '@steeple/contracts'
import { desiredRadio, isSameProfile } from '../supervisor/desired-radio.ts'
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

/** Whether the switch turns the cell off by itself. */
function hasTimer(refresh: string): boolean {
  return (msFromDuration(refresh) ?? 0) > 0
}

/** What the operator must have settled for the case that this machine fails while the cell is on. */
function leaseProblems({ settings: { ran } }: Pick<Context, 'settings'>): readonly string[] {
  const { refresh, stays_on: isAccepted } = ran.external
  return isAccepted || hasTimer(refresh)
    ? []
    : [
        'it stays on when this machine fails: set ran.external.refresh for a switch with a timer of its own, ' +
          'or accept it with ran.external.stays_on',
      ]
}

function technologyProblems(cell: Cell, { technology }: RadioProfile): readonly string[] {
  return technology === cell.technology
    ? []
    : [`the cell is of ${cell.technology} (ran.external.technology), and the profile is ${technology}`]
}

/** The driver of an external cell. */
export function externalDriver(context: Pick<Context, 'use' | 'maybe' | 'settings'>, cell: Cell): RanDriver {
  let stops = 0
  return {
    problems: (profile) => [
      ...technologyProblems(cell, profile),
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
          { check: 'configuration', problems: technologyProblems(cell, profile) },
          { check: 'switch', problems: switchProblems(context, cell.snapshot()) },
          {
            check: 'core',
            problems: openBecause === undefined ? [] : [`the core is not closed to it: ${openBecause}`],
          },
          { check: 'lease', problems: leaseProblems(context) },
        ],
      }
    },
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
      const desired = await desiredRadio(context)
      if (!desired.isOn) throw txNotArmed(`the cell may not go on air: ${desired.reason}`)
      if (!isSameProfile(desired.profile, profile))
        throw txNotArmed(`only the armed profile ${desired.profileId} may go on air`)
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
  const incident = isIncident ? 'cell_not_permitted' : 'no_radio'
  const required = desired?.isOn === true || verdict.state !== 'off'
  return { name: 'ran', kind: 'ran', required, incident, ...verdictOf(context, snapshot) }
}

function verdictOf(
  context: Pick<Context, 'settings'>,
  { state, desired, verdict, problem, openBecause, look }: CellSnapshot,
): Pick<ComponentHealth, 'status' | 'detail'> {
  const { because } = verdict
  const open =
    openBecause === undefined ? 'the core is closed to it' : `the core is not closed to it: ${openBecause}`
  if (state === 'not_permitted')
    return { status: 'down', detail: `a cell is on air that is not permitted: ${because}; ${open}` }
  if (desired?.isOn !== true) {
    if (verdict.state !== 'off')
      return {
        status: 'down',
        detail: `the cell must be off and is not known to be: ${because}${said(problem)}`,
      }
    return { status: 'ok', detail: `off: ${because} (${desired?.reason ?? 'held off'}); ${open}` }
  }
  const { refresh } = context.settings.ran.external
  const lease = !hasTimer(refresh)
    ? 'it stays on when this machine fails'
    : `its switch is told every ${refresh} that it be on`
  const name = `cell with profile ${desired.profileId}`
  const reading = look?.reading
  const meter = reading !== undefined && 'meter' in reading ? reading.meter : undefined
  const shown = meter === undefined ? '' : `, ${meter.shown}`
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

function said(problem: string | undefined): string {
  return problem === undefined ? '' : `: ${problem}`
}
