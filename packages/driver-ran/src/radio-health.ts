import type { ComponentHealth } from '@steeple/contracts'
import { mayBeOnAir, ueCountOf } from './stream/radio-facts.ts'
import type { RadioSnapshot } from './supervisor/radio-state.ts'

/** What the health is judged by. */
export interface HealthBasis {
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
  const incident = basis.snapshot.isDeviceGone === true ? 'no_radio_power' : 'no_radio'
  return { name: 'ran', kind: 'ran', ...verdict(basis), required, incident }
}

/** The health without a configured radio: fine, unless TX is armed and the core knows no radio of somebody else. */
export function unconfiguredHealth(isArmed: boolean, coreRadios: number | undefined): ComponentHealth {
  const common = { name: 'ran', kind: 'ran', required: false } as const
  if (!isArmed) return { ...common, status: 'ok', detail: 'no radio configured' }
  return (coreRadios ?? 0) > 0
    ? { ...common, status: 'ok', detail: 'no radio configured; the core knows one of somebody else' }
    : { ...common, status: 'degraded', detail: 'TX is armed, but no radio is configured (ran.binary)' }
}

type Verdict = Pick<ComponentHealth, 'status' | 'detail'>
type Running = NonNullable<RadioSnapshot['running']>

function verdict(basis: HealthBasis): Verdict {
  const { running, leftBehind } = basis.snapshot
  if (leftBehind !== undefined) return { status: 'down', detail: leftBehind }
  return running === undefined ? idleVerdict(basis) : runningVerdict(basis, running)
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
      const detail = `${air}, connected to the core, ${phones} phones`
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
  return hints.length === 0 ? '' : ` [${hints.join('; ')}]`
}
