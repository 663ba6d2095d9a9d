import { sightOf } from '../attach/sight.ts'
import type { SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import type { SimRow } from '../store/sim-row.ts'
import type { Check } from './check.ts'
import { askCore, attachedCheck, attemptsCheck, coreCheck, radioCheck } from './core-checks.ts'
import { provisioningCheck, stateCheck, subscriberCheck } from './sim-checks.ts'

/** Why a phone is not on, as far as the service and the core know. */
export interface Diagnosis {
  readonly verdict: string
  readonly checks: readonly Check[]
}

/** A person waits: what does not answer in that time is unknown, ms. */
const LIMIT_MS = 5_000

/** Looks at everything between a SIM and the network. Changes nothing. Throws `store_corrupt`. */
export async function diagnose(parts: SimsParts, row: SimRow, asked: AbortSignal): Promise<Diagnosis> {
  const signal = AbortSignal.any([asked, AbortSignal.timeout(LIMIT_MS)])
  const imsi = openImsi(parts.vault, row)
  const [subscriber, answers, sight] = await Promise.all([
    subscriberCheck(parts, row, signal),
    askCore(parts, imsi, signal),
    sightOf(parts, row),
  ])
  const checks = [
    stateCheck(row),
    provisioningCheck(parts, row),
    subscriber,
    coreCheck(answers),
    radioCheck(answers),
    attachedCheck(sight),
    attemptsCheck(parts, row, sight, answers),
  ]
  return { verdict: verdictOf(checks, sight.attached), checks }
}

function verdictOf(checks: readonly Check[], attached: boolean | null): string {
  const wrong = checks.find(({ status }) => status === 'failed')
  if (wrong !== undefined) return `${wrong.name}: ${wrong.detail}`
  if (attached === true) return 'its phone is on the network'
  const odd = checks.find(({ status, advice }) => status === 'warning' && advice !== null)
  if (odd !== undefined) return `nothing here keeps it off; ${odd.detail}`
  const hidden = checks.filter(({ status }) => status === 'unknown').map(({ name }) => name)
  return hidden.length === 0
    ? 'nothing here keeps it off'
    : `nothing that is known keeps it off; not known: ${hidden.join(', ')}`
}
