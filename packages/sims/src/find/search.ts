import { setImmediate as nextTurn } from 'node:timers/promises'
import { chunksOf, fieldRefused, type ImsiHash, type Reader } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { ICCID_END, iccidOf } from '../secrets/iccid-index.ts'
import { cardsWithIccidEnd, hashesByIccidEnd } from '../store/iccid-store.ts'
import {
  type FoundSim,
  findSims,
  hashesByStart,
  type SimFilter,
  type SimPosition,
} from '../store/sim-store.ts'
import {
  areWordsBuilt,
  hashesByWord,
  labelKey,
  msisdnKey,
  type Searched,
  wordsOf,
} from '../store/word-store.ts'

/**
 * The hashes of SIMs whose ICCID ends with these digits, four at least, revoked ones included. More than four are compared
 * with the sealed ICCIDs of those that share the last four.
 */
export async function hashesByLongIccidEnd(
  { context, vault }: Pick<SimsParts, 'context' | 'vault'>,
  digits: string,
): Promise<ReadonlySet<string>> {
  const sims = await cardsWithIccidEnd(context.db, digits.slice(-ICCID_END))
  return new Set(sims.filter((sim) => iccidOf(vault, sim)?.endsWith(digits) === true).map(({ hash }) => hash))
}

/** Digits of a whole IMSI or ICCID; a search that is part of an address takes fewer. TS 23.003 §2.2, ITU-T E.118. */
const WHOLE_IDENTIFIER = 14
const HASH_START = /^[0-9a-f]{1,12}$/
const DIGITS = /^[0-9]+$/

/**
 * The words of a search, each of which a SIM must match. Throws `validation_failed` for a text without letter or digit,
 * and for one that holds a whole IMSI or ICCID: it has been in an address.
 */
function termsOf(text: string): readonly string[] {
  const terms = wordsOf(text)
  if (terms.length === 0) throw fieldRefused('/q', 'holds neither a letter nor a digit')
  if (terms.some((term) => DIGITS.test(term) && term.length >= WHOLE_IDENTIFIER))
    throw fieldRefused(
      '/q',
      'takes the last digits alone; whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find',
    )
  return terms
}

/** Whether a term could be the end of an ICCID or an MSISDN. */
function isDigits(term: string): boolean {
  return DIGITS.test(term)
}

/** The last four digits of every ICCID that could end with these digits. */
function iccidEnds(digits: string): readonly string[] {
  if (digits.length >= ICCID_END) return [digits.slice(-ICCID_END)]
  const open = ICCID_END - digits.length
  return Array.from({ length: 10 ** open }, (_, i) => String(i).padStart(open, '0') + digits)
}

/** The hashes of those whose ICCID ends with a term of more digits than are stored in clear, by term. */
type LongEnds = ReadonlyMap<string, ReadonlySet<string>>

/** Whether a SIM matches every term: hash or a word of its label begin with it, ICCID or MSISDN end with it. */
function isMatch(sim: Searched, terms: readonly string[], longEnds: LongEnds): boolean {
  const words = sim.label === null ? [] : wordsOf(sim.label)
  return terms.every(
    (term) =>
      sim.hash.startsWith(term) ||
      words.some((word) => word.startsWith(term)) ||
      (isDigits(term) && (sim.msisdn?.endsWith(term) === true || endsIccid(sim, term, longEnds))),
  )
}

function endsIccid(sim: Searched, digits: string, longEnds: LongEnds): boolean {
  if (digits.length > ICCID_END) return longEnds.get(digits)?.has(sim.hash) === true
  return sim.iccid_last4?.endsWith(digits) === true
}

/** A search, beside the filters that are columns. */
export interface Search {
  readonly filter: SimFilter
  /** Who is attached now; needed when the filter asks. */
  readonly present: ReadonlySet<ImsiHash> | undefined
}

/** More SIMs than this with one word are found faster by looking through all, newest first. */
const RARE = 500
/** Rows that are looked at without giving others a turn. */
const ROWS_AT_ONCE = 500

/** Whether a filter needs more than columns with an index of their own. */
export function isSearch({ q, attached, msisdn, iccid_last4 }: SimFilter): boolean {
  return [q, attached, msisdn, iccid_last4].some((part) => part !== undefined)
}

/**
 * At most `limit` SIMs that a search finds after `after`, newest first.
 *
 * The rarest of what is asked for gives the candidates, by an index; where everything is common, the SIMs are looked
 * through, which ends soon as there are many. Throws `validation_failed`.
 */
export async function search(
  parts: SimsParts,
  { filter, present }: Search,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const reader = parts.context.db
  const { isFound, candidates } = await planOf(parts, { filter, present })
  return candidates === undefined
    ? await lookThrough(reader, filter, isFound, limit, after)
    : await pickFrom(reader, filter, candidates, isFound, limit, after)
}

/** How many SIMs a search finds; undefined where it would look through all of them. Throws `validation_failed`. */
export async function countFound(parts: SimsParts, asked: Search): Promise<number | undefined> {
  const plan = await planOf(parts, asked)
  if (plan.candidates === undefined) return undefined
  const { db } = parts.context
  const { candidates, isFound } = plan
  return (await pickFrom(db, asked.filter, candidates, isFound, candidates.size, undefined)).length
}

/** How a search goes about it. */
interface Plan {
  readonly isFound: (sim: FoundSim) => boolean
  readonly candidates: ReadonlySet<string> | undefined
}

async function planOf(parts: SimsParts, { filter, present }: Search): Promise<Plan> {
  const terms = filter.q === undefined ? [] : termsOf(filter.q)
  const longEnds = await longEndsOf(parts, terms)
  const isFound = (sim: FoundSim): boolean =>
    isMatch(sim, terms, longEnds) &&
    (filter.msisdn === undefined || sim.msisdn === filter.msisdn) &&
    (filter.attached === undefined || (present?.has(sim.hash) === true) === filter.attached)
  return { isFound, candidates: await candidatesOf(parts, { filter, present }, terms, longEnds) }
}

/** The smallest set of hashes that holds everything searched for; undefined when there is no small one. */
async function candidatesOf(
  parts: SimsParts,
  { filter, present }: Search,
  terms: readonly string[],
  longEnds: LongEnds,
): Promise<ReadonlySet<string> | undefined> {
  const reader = parts.context.db
  let best: ReadonlySet<string> | undefined = filter.attached === true ? present : undefined
  const offer = (found: ReadonlySet<string> | undefined): void => {
    if (found !== undefined && (best === undefined || found.size < best.size)) best = found
  }
  if (filter.iccid_last4 !== undefined)
    offer(fewOf([await hashesByIccidEnd(reader, [filter.iccid_last4], RARE)]))
  if (!(await areWordsBuilt(reader))) return best
  if (filter.msisdn !== undefined) offer(new Set(await hashesByWord(reader, msisdnKey(filter.msisdn), RARE)))
  for (const term of terms) offer(await hashesOfTerm(parts, term, longEnds.get(term)))
  return best
}

/** Undefined when there are too many. `ofLongEnd`: those whose ICCID ends with it, where that was looked for already. */
async function hashesOfTerm(
  parts: SimsParts,
  term: string,
  ofLongEnd: ReadonlySet<string> | undefined,
): Promise<ReadonlySet<string> | undefined> {
  const reader = parts.context.db
  const lists = [await hashesByWord(reader, labelKey(term), RARE)]
  if (HASH_START.test(term)) lists.push(await hashesByStart(reader, term, RARE))
  if (isDigits(term)) {
    lists.push(await hashesByWord(reader, msisdnKey(term), RARE))
    const ends = iccidEnds(term)
    // One or two digits are the end of every tenth or hundredth ICCID.
    if (ends.length > 10) return undefined
    lists.push(ofLongEnd === undefined ? await hashesByIccidEnd(reader, ends, RARE) : [...ofLongEnd])
  }
  return fewOf(lists)
}

/** Undefined when there are too many. */
function fewOf(lists: readonly (readonly string[])[]): ReadonlySet<string> | undefined {
  return lists.some((list) => list.length >= RARE) ? undefined : new Set(lists.flat())
}

async function longEndsOf(parts: SimsParts, terms: readonly string[]): Promise<LongEnds> {
  const found = new Map<string, ReadonlySet<string>>()
  for (const term of terms)
    if (isDigits(term) && term.length > ICCID_END) found.set(term, await hashesByLongIccidEnd(parts, term))
  return found
}

async function pickFrom(
  reader: Reader,
  filter: SimFilter,
  candidates: ReadonlySet<string>,
  isFound: (sim: FoundSim) => boolean,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const found: FoundSim[] = []
  for (const part of chunksOf([...candidates], ROWS_AT_ONCE)) {
    const some = await findSims(reader, filter, { hashes: part }, after)
    found.push(...some.filter(isFound))
    await nextTurn()
  }
  return found.sort(newestFirst).slice(0, limit)
}

async function lookThrough(
  reader: Reader,
  filter: SimFilter,
  isFound: (sim: FoundSim) => boolean,
  limit: number,
  from: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const found: FoundSim[] = []
  let after = from
  for (;;) {
    const some = await findSims(reader, filter, { limit: ROWS_AT_ONCE }, after)
    found.push(...some.filter(isFound))
    const last = some.at(-1)
    if (found.length >= limit || some.length < ROWS_AT_ONCE || last === undefined)
      return found.slice(0, limit)
    after = { issuedAtMs: last.issued_at_ms, hash: last.hash }
    await nextTurn()
  }
}

function newestFirst(a: FoundSim, b: FoundSim): number {
  return b.issued_at_ms - a.issued_at_ms || (a.hash < b.hash ? 1 : -1)
}
