import {
  type ComponentHealth,
  type CoreObserved,
  countText,
  type IncidentKind,
  type Metrics,
  radioLink,
} from '@steeple/contracts'
import type { ExitClass } from './process/exit-class.ts'
import { mayBeOnAir, type RadioFacts, ueCountOf } from './stream/radio-facts.ts'
import { RADIO_STATES, type RadioSnapshot } from './supervisor/radio-state.ts'

interface RadioMetrics {
  started(): void
  exited(kind: ExitClass): void
  stopped(seconds: number): void
  /** Sets what is read off a running radio. */
  show(
    snapshot: Pick<RadioSnapshot, 'state'> & {
      readonly facts?: RadioFacts | undefined
      readonly isConnected?: boolean
    },
  ): void
}

/** Declares the metrics of the driver. */
export function radioMetrics(metrics: Metrics): RadioMetrics {
  const state = metrics.gauge(
    'svc_driver_ran_state',
    'State of the radio: 1 for the present state, 0 for all others.',
    ['state'],
  )
  const connected = metrics.gauge('svc_driver_ran_connected', '1: S1 or NG is up. 0: it is not.')
  const phones = metrics.gauge('svc_driver_ran_ues', 'Phones that the radio serves.')
  const starts = metrics.counter('svc_driver_ran_starts_total', 'Radio processes started.')
  const exits = metrics.counter('svc_driver_ran_exits_total', 'Radio processes ended, by reason.', ['class'])
  const errors = metrics.counter(
    'svc_driver_ran_rf_errors_total',
    'Late, lost and missing samples that the radio reported.',
  )
  const accesses = metrics.counter('svc_driver_ran_random_accesses_total', 'Random accesses of phones.')
  const stops = metrics.histogram(
    'svc_driver_ran_stop_seconds',
    'Time until a stop was confirmed.',
    [0.01, 0.1, 0.5, 0.8, 1, 2, 4, 7],
  )
  let last: Pick<RadioFacts, 'rfErrors' | 'randomAccesses'> = { rfErrors: 0, randomAccesses: 0 }
  return {
    started: () => {
      last = { rfErrors: 0, randomAccesses: 0 }
      starts.inc()
    },
    exited: (kind) => exits.inc({ class: kind }),
    stopped: (seconds) => stops.observe(seconds),
    show: (snapshot) => {
      for (const each of RADIO_STATES) state.set(each === snapshot.state ? 1 : 0, { state: each })
      const { facts, isConnected = facts?.isConnected === true } = snapshot
      connected.set(isConnected ? 1 : 0)
      phones.set(facts === undefined ? 0 : ueCountOf(facts))
      if (facts === undefined) return
      errors.inc({}, Math.max(0, facts.rfErrors - last.rfErrors))
      accesses.inc({}, Math.max(0, facts.randomAccesses - last.randomAccesses))
      last = facts
    },
  }
}

/** The core sees no radio although the radio says that it is connected: for so long it may be late, ms. */
const SHOWN_AFTER_MS = 30_000
const MENDED_AFTER_MS = 60_000
/** At most one restart for this reason in so long, ms: a core that does not count radios must not end the service. */
const RESTART_EVERY_MS = 600_000

/** What to do about what the core sees. */
interface CoreVerdict {
  /** Shown in the health; undefined when both agree. */
  readonly disagreement: string | undefined
  readonly isRestartDue: boolean
}

/** One look at the radio's own view of S1 or NG and the core's; `core` is undefined when the core cannot be asked. */
type CoreLook = (isConnected: boolean, core: CoreObserved | undefined, nowMs: number) => CoreVerdict

/** Compares both, having seen nothing yet. Times are ms of the monotonic clock. */
export function coreView(): CoreLook {
  let sinceMs: number | undefined
  let restartedMs = Number.NEGATIVE_INFINITY
  return (isConnected, core, nowMs) => {
    const isMissing = isConnected && core?.radios === 0
    if (!isMissing) {
      sinceMs = undefined
      return { disagreement: undefined, isRestartDue: false }
    }
    sinceMs ??= nowMs
    const forMs = nowMs - sinceMs
    const others = core.otherNetworks ?? []
    // It announces what the core does, or is another one: a start changes neither.
    if (others.length > 0)
      return {
        disagreement:
          forMs >= SHOWN_AFTER_MS ? `the core has it in another network (${others.join(', ')})` : undefined,
        isRestartDue: false,
      }
    const isRestartDue = forMs >= MENDED_AFTER_MS && nowMs - restartedMs >= RESTART_EVERY_MS
    if (isRestartDue) restartedMs = nowMs
    return {
      disagreement:
        forMs >= SHOWN_AFTER_MS
          ? `the radio says that it is connected, but the core has known none for ${Math.floor(forMs / 1_000)} s`
          : undefined,
      isRestartDue,
    }
  }
}

/** What the health is judged by. */
interface HealthBasis {
  readonly snapshot: RadioSnapshot
  /** What radio and core disagree about; undefined when they do not. */
  readonly disagreement: string | undefined
  /** What the machine lacks. */
  readonly hints: readonly string[]
}

/**
 * `ran` of the health board: required as long as something should be on air or may be.
 *
 * The process comes first: what runs is said to run, whatever is wanted.
 */
export function radioHealth(basis: HealthBasis): ComponentHealth {
  const { desired, running, leftBehind } = basis.snapshot
  const required = desired?.isOn === true || running !== undefined || leftBehind !== undefined
  const incident = incidentOf(basis.snapshot)
  return { name: 'ran', kind: 'ran', ...verdict(basis), required, incident }
}

function incidentOf({ state, isDeviceGone }: RadioSnapshot): IncidentKind {
  if (isDeviceGone === true) return 'no_radio_power'
  return state === 'refused' ? 'radio_refused' : 'no_radio'
}

/** The health without a configured radio: fine, unless TX is armed and the core knows no radio of somebody else. */
export function unconfiguredHealth(
  isArmed: boolean,
  core: Pick<CoreObserved, 'radios'> | undefined,
): ComponentHealth {
  const common = { name: 'ran', kind: 'ran', required: false } as const
  if (!isArmed) return { ...common, status: 'ok', detail: 'no radio configured' }
  return radioLink(undefined, core).isConnected === true
    ? { ...common, status: 'ok', detail: 'no radio configured; the core knows one of somebody else' }
    : { ...common, status: 'degraded', detail: 'TX is armed, but no radio is configured (ran.binary)' }
}

type Verdict = Pick<ComponentHealth, 'status' | 'detail'>
type Running = NonNullable<RadioSnapshot['running']>

function verdict(basis: HealthBasis): Verdict {
  const { running, leftBehind } = basis.snapshot
  if (leftBehind !== undefined) return { status: 'down', detail: leftBehind }
  if (running === undefined) return idleVerdict(basis)
  const found = runningVerdict(basis, running)
  // A radio that ends at each start does not come and go: it is gone.
  const isGone = basis.snapshot.state === 'starting' && basis.snapshot.hasFailed === true
  return isGone ? { ...found, status: 'down' } : found
}

function idleVerdict({ snapshot, hints }: HealthBasis): Verdict {
  const { state, desired, problem } = snapshot
  if (desired?.isOn !== true || state === 'off') {
    const why =
      desired?.isOn === true ? 'held off' : (desired?.reason ?? 'the TX gate has not been asked yet')
    return { status: 'ok', detail: `off: ${why}${hinted(hints)}` }
  }
  const name = nameOf(desired)
  return state === 'refused'
    ? { status: 'down', detail: `${name} is not started: ${problem ?? 'refused'}` }
    : { status: 'down', detail: `${name} does not run: ${problem ?? 'not started yet'}${hinted(hints)}` }
}

function runningVerdict({ snapshot, disagreement, hints }: HealthBasis, running: Running): Verdict {
  const { state, desired, facts, problem, complaints, again } = snapshot
  const name = nameOf(running)
  const anew = again === undefined ? '' : `; started anew: ${again}`
  const complaint = `${anew}${complaints === undefined ? '' : `; it complains: ${complaints}`}`
  const notes = `${complaint}${hinted(hints)}`
  const air = `on air at ${facts?.carrier?.downlinkMhz ?? running.downlinkMhz} MHz`
  const maybe = facts !== undefined && mayBeOnAir(facts) ? `, may be ${air}` : ''
  const unwanted =
    desired?.isOn === true ? undefined : (desired?.reason ?? 'the TX gate has not been asked yet')
  const trouble = unwanted ?? disagreement ?? problem
  const why = trouble === undefined ? '' : `: ${trouble}`
  const degraded = (detail: string): Verdict => ({ status: 'degraded', detail: `${name} is ${detail}` })
  switch (state) {
    case 'stopping':
      return degraded(`stopping${maybe}${why}`)
    case 'stalled':
      return degraded(`not working${maybe}${why}${notes}`)
    case 'radio_up':
      return degraded(`${air}, not connected to the core yet${why}${notes}`)
    case 's1_down':
      return degraded(`${air} without core: ${trouble ?? 'lost'}${notes}`)
    case 's1_up': {
      const phones = facts === undefined ? 0 : ueCountOf(facts)
      const detail = `${air}, connected to the core, ${countText(phones, 'phone')}`
      return trouble === undefined
        ? { status: 'ok', detail: `${name} is ${detail}${complaint}` }
        : degraded(`${detail}${why}${complaint}`)
    }
    default:
      return degraded(`starting${maybe}${why}${notes}`)
  }
}

function nameOf({
  isVirtual,
  profileId,
}: {
  readonly isVirtual: boolean
  readonly profileId: string
}): string {
  return `${isVirtual ? 'virtual radio' : 'radio'} with profile ${profileId}`
}

function hinted(hints: readonly string[]): string {
  return hints.length === 0 ? '' : ` [also seen on this machine: ${hints.join('; ')}]`
}
