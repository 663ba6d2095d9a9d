import type { ComponentHealth } from '@steeple/contracts'
import { ueCountOf } from './stream/radio-facts.ts'
import type { RadioSnapshot } from './supervisor/radio-state.ts'

/** What the health is judged by. */
export interface HealthBasis {
  readonly snapshot: RadioSnapshot
  /** What radio and core disagree about; undefined when they do not. */
  readonly disagreement: string | undefined
  /** What the machine lacks. */
  readonly hints: readonly string[]
}

/** `ran` of the health board: required as long as something should be on air. */
export function radioHealth(basis: HealthBasis): ComponentHealth {
  const required = basis.snapshot.desired?.isOn === true
  return { name: 'ran', kind: 'ran', ...verdict(basis), required }
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

function verdict({ snapshot, disagreement, hints }: HealthBasis): Verdict {
  const { state, desired, problem } = snapshot
  const profile = desired?.isOn === true ? desired.profileId : 'none'
  const kind = desired?.isOn === true && desired.isVirtual ? 'virtual radio' : 'radio'
  const name = `${kind} with profile ${profile}`
  switch (state) {
    case 'off': {
      const why = desired?.isOn === false ? desired.reason : 'held off'
      return { status: 'ok', detail: `off: ${why}${hinted(hints)}` }
    }
    case 's1_up':
      return upVerdict(name, snapshot, disagreement ?? problem)
    case 'starting':
      return { status: 'degraded', detail: `${name} is starting${hinted(hints)}` }
    case 'stopping':
      return { status: 'degraded', detail: `${name} is stopping` }
    case 'radio_up':
      return {
        status: 'degraded',
        detail: `${name} is on air, not connected to the core yet${hinted(hints)}`,
      }
    case 's1_down':
      return {
        status: 'degraded',
        detail: `${name} is on air without core: ${problem ?? 'lost'}${hinted(hints)}`,
      }
    case 'waiting':
      return {
        status: 'down',
        detail: `${name} does not run: ${problem ?? 'not started yet'}${hinted(hints)}`,
      }
    case 'refused':
      return { status: 'down', detail: `${name} is not started: ${problem ?? 'refused'}` }
  }
}

function upVerdict(name: string, { facts }: RadioSnapshot, trouble: string | undefined): Verdict {
  if (trouble !== undefined) return { status: 'degraded', detail: `${name}: ${trouble}` }
  const phones = facts === undefined ? 0 : ueCountOf(facts)
  const carrier = facts?.carrier === undefined ? '' : ` at ${facts.carrier.downlinkMhz} MHz`
  return { status: 'ok', detail: `${name} is on air${carrier}, connected to the core, ${phones} phones` }
}

function hinted(hints: readonly string[]): string {
  return hints.length === 0 ? '' : ` [${hints.join('; ')}]`
}
