import { notFound, type SimCard } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { AT_ONCE } from '../store/code-queries.ts'
import { esimCodeConflict } from './conflict.ts'
import type { Candidates, IssueRequest } from './issue-request.ts'
import { withoutCode } from './place.ts'

/** Codes of one request: one transaction, and what the policy allows in an hour when nobody has said otherwise. */
const PART = 500

/**
 * The next SIMs of a batch that have neither an open code nor a delivered profile. They count against `sim_issue`.
 * Throws `not_found`, `esim_code_conflict` when there are none, `rate_limited`.
 */
export async function batchPart(
  parts: EsimParts,
  request: IssueRequest,
  batchId: string,
): Promise<Candidates> {
  const cards: SimCard[] = []
  const seen = { sims: 0, unfit: 0, remaining: 0 }
  for await (const { card, isFree } of cardsOf(parts, batchId)) {
    seen.sims += 1
    if (!isFree) continue
    if (!isFit(card)) seen.unfit += 1
    else if (cards.length < PART) cards.push(card)
    else seen.remaining += 1
  }
  if (seen.sims === 0) throw notFound(`batch ${batchId}`)
  if (cards.length === 0)
    throw esimCodeConflict(
      `no SIM of batch ${batchId} is without a code` +
        (seen.unfit === 0 ? '' : `, except ${seen.unfit} that are revoked, expired or have no ICCID`),
    )
  await request.take('sim_issue', cards.length)
  return {
    target: batchId,
    cards,
    remaining: seen.remaining,
    credentials: ({ imsi }) => parts.issuer.credentials(imsi),
  }
}

async function* cardsOf(
  { context, issuer }: EsimParts,
  batchId: string,
): AsyncGenerator<{ readonly card: SimCard; readonly isFree: boolean }> {
  for (let after = ''; ; ) {
    const found = await issuer.batch(batchId, after, AT_ONCE)
    const free = await withoutCode(
      context.db,
      found.map(({ imsi }) => imsi),
    )
    for (const card of found) yield { card, isFree: free.has(card.imsi) }
    const last = found.at(-1)
    if (found.length < AT_ONCE || last === undefined) return
    after = last.imsi
  }
}

function isFit({ state, iccidLast4 }: SimCard): boolean {
  return state !== 'revoked' && state !== 'expired' && iccidLast4 !== undefined
}
