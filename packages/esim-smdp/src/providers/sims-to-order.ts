import {
  BATCH_ID_PATTERN,
  type ImsiHash,
  type JsonSchema,
  notFound,
  objectSchema,
  recordSchema,
  type SimCard,
  simNotFound,
  validationFailed,
} from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { AT_ONCE } from '../store/code-queries.ts'

/** Which SIMs a provider is to get. */
export interface OrderBody {
  readonly batch_id?: string
  readonly imsis?: readonly ImsiHash[]
}

const HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }

/** Properties of a body that says which. */
export const ORDER_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  batch_id: { type: 'string', pattern: BATCH_ID_PATTERN, description: 'All of this batch or import.' },
  imsis: { type: 'array', items: HASH, minItems: 1, maxItems: AT_ONCE, description: 'Or these, by hash.' },
}
/** Schema of a body that says nothing else. */
export const ORDER_BODY: JsonSchema = objectSchema(ORDER_PROPERTIES)

/** A SIM that was left out, and why. */
export interface LeftOut {
  readonly imsi_sha256_12: string
  readonly reason: string
}
/** Schema of those. */
export const LEFT_OUT: JsonSchema = {
  type: 'array',
  items: recordSchema({ imsi_sha256_12: { type: 'string' }, reason: { type: 'string' } }),
  description: 'SIMs that cannot be ordered, and why.',
}

/** The SIMs of a body, at most `most` of a batch. Throws `validation_failed`, `not_found`, `sim_not_found`. */
export async function simsOf(
  { issuer }: Pick<EsimParts, 'issuer'>,
  body: OrderBody,
  most: number,
): Promise<readonly SimCard[]> {
  const { batch_id: batch, imsis } = body
  if ((batch === undefined) === (imsis === undefined))
    throw validationFailed('send batch_id or imsis, one of them')
  if (imsis !== undefined) {
    const cards = await issuer.cards([...new Set(imsis)])
    const known = new Set(cards.map(({ imsi }) => imsi))
    const missing = imsis.find((imsi) => !known.has(imsi))
    if (missing !== undefined) throw simNotFound(missing)
    return cards
  }
  const cards: SimCard[] = []
  for (let after = ''; ; ) {
    const found = await issuer.batch(batch ?? '', after, AT_ONCE)
    cards.push(...found)
    const last = found.at(-1)
    if (cards.length > most)
      throw validationFailed(`the batch ${batch} has more than ${most} SIMs; order them by smaller batches`)
    if (found.length < AT_ONCE || last === undefined) break
    after = last.imsi
  }
  if (cards.length === 0) throw notFound(`batch ${batch}; look for it in the list of SIMs`)
  return cards
}

/** Why a SIM cannot go to a provider at all. */
export function unfit({ state, iccidLast4 }: SimCard): string | undefined {
  if (state === 'revoked' || state === 'expired') return `the SIM is ${state}`
  return iccidLast4 === undefined ? 'the SIM has no ICCID; import it with one' : undefined
}
