import { sightOf } from '../attach/sight.ts'
import { policyApns } from '../issue/issue.ts'
import type { SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import type { SimRow } from '../store/sim-row.ts'
import { SIMS } from '../store/sim-row.ts'
import { askCore } from './core-checks.ts'
import { type Diagnosis, judge } from './judge.ts'
import { provisioningCheck, subscriberCheck } from './sim-checks.ts'

/** A person waits: what does not answer in that time is unknown, ms. */
const LIMIT_MS = 5_000

/** Looks at everything between a SIM and the network. Changes nothing. Throws `store_corrupt`. */
export async function diagnose(parts: SimsParts, row: SimRow, asked: AbortSignal): Promise<Diagnosis> {
  const signal = AbortSignal.any([asked, AbortSignal.timeout(LIMIT_MS)])
  const first = await look(parts, row, signal)
  const { hash } = row
  const now = await SIMS.find(parts.context.db, { hash })
  // Somebody has changed it meanwhile: what was found is of two SIMs then, the one of before and the one of now.
  return now === undefined || isAsBefore(row, now) ? first : await look(parts, now, signal)
}

function isAsBefore(before: SimRow, now: SimRow): boolean {
  const { generation, state, hss_status } = now
  return before.generation === generation && before.state === state && before.hss_status === hss_status
}

async function look(parts: SimsParts, row: SimRow, signal: AbortSignal): Promise<Diagnosis> {
  const imsi = openImsi(parts.vault, row)
  const [subscriber, answers, sight] = await Promise.all([
    subscriberCheck(parts, row, signal),
    askCore(parts, imsi, signal),
    sightOf(parts, row),
  ])
  const { settings, clock } = parts.context
  const provisioning = provisioningCheck(parts, row)
  const network = { settings, apns: policyApns(parts), doubt: clock.doubt?.() }
  return judge({ row, ...network, provisioning, subscriber, answers, sight })
}
