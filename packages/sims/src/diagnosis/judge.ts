import { attemptsCheck } from './attempts-check.ts'
import type { Check } from './check.ts'
import { attachedCheck, coreCheck, type Facts, isHeldAsOn, radioCheck, refusedSince } from './core-checks.ts'
import { clockCheck, networkCheck } from './network-check.ts'
import { stateCheck } from './sim-checks.ts'

/** Why a phone is not on, as far as the service and the core know. */
export interface Diagnosis {
  readonly verdict: string
  readonly checks: readonly Check[]
}

/**
 * What follows from all that was found out. No two parts of it exclude each other, whatever the lists of the core say that were read
 * one after the other: who is on the network is kept off by nothing, and a phone is to be looked at when nothing else is in the way.
 */
export function judge(facts: Facts): Diagnosis {
  const { row, sight, answers } = facts
  const core = coreCheck(answers)
  const radio = radioCheck(facts)
  const isHindered = core.status === 'failed' || radio.status === 'failed'
  const checks = [
    stateCheck(row, sight),
    facts.provisioning,
    facts.subscriber,
    networkCheck(facts),
    core,
    radio,
    attachedCheck(facts),
    attemptsCheck(facts, isHindered),
    clockCheck(facts),
  ]
  const isOn = (sight.attached === true || isHeldAsOn(facts)) && refusedSince(facts) === undefined
  return { verdict: verdictOf(checks, isOn), checks }
}

function verdictOf(checks: readonly Check[], isOn: boolean): string {
  const wrong = checks.find(({ status }) => status === 'failed')
  const cause = wrong && `${wrong.name}: ${wrong.detail}`
  if (isOn) return ['its phone is on the network', cause].filter(Boolean).join(' all the same; ')
  if (cause !== undefined) return cause
  const odd = checks.find(({ status, advice }) => status === 'warning' && advice !== null)
  const hidden = checks.filter(({ status }) => status === 'unknown').map(({ name }) => name)
  return [
    hidden.length === 0 ? 'nothing here keeps it off' : 'nothing that is known keeps it off',
    ...(odd === undefined ? [] : [odd.detail]),
    ...(hidden.length === 0 ? [] : [`not known: ${hidden.join(', ')}`]),
  ].join('; ')
}
