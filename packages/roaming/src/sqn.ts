/** SQN = SEQ ‖ IND, IND of 5 bits. TS 33.102 annex C.3.2. */
const IND_BITS = 5n
/** What a core adds for each vector that leaves IND as it is. */
export const IND_STEP = 32
/** The home's own is 0. */
const FIRST_IND = 1
const LAST_IND = 31
/** SEQ has 43 bits. */
const MOST_SEQ = 2 ** 43 - 1
/** Half of Δ, the largest step that a card takes. TS 33.102 annex C.2.1. */
const LONGEST_STEP = 2 ** 27

/** What of a card is known when an index begins. */
interface SeqKnown {
  readonly issuedAtMs: number
  readonly nowMs: number
  /** Later than every SEQ that was used with this index, as far as that is known. */
  readonly aboveOwn: number
  /** The highest that is known of the card, with whatever index. */
  readonly highest: number
}

/**
 * The SEQ to begin with: above all that is known of the index, and one for each second since the SIM was issued, which holds when
 * what was known is lost. Never so far above the highest that a card refuses it, be the clock years ahead.
 */
export function seqToBegin({ issuedAtMs, nowMs, aboveOwn, highest }: SeqKnown): number {
  const seconds = Math.floor((nowMs - issuedAtMs) / 1_000) + 1
  return Math.min(MOST_SEQ, Math.max(aboveOwn + 1, Math.min(seconds, highest + LONGEST_STEP), 1))
}

/** The SQN of a SEQ and an index. */
export function sqnFrom(seq: number, ind: number): bigint {
  return (BigInt(seq) << IND_BITS) | BigInt(ind)
}

/** The SEQ in an SQN. */
export function seqIn(sqn: bigint): number {
  return Number(sqn >> IND_BITS)
}

/** Later than a SEQ that was given then, whatever has been drawn since: one for each second, within what a card takes. */
export function laterSeq(seq: number, sinceMs: number, nowMs: number): number {
  const seconds = Math.floor((nowMs - sinceMs) / 1_000)
  return Math.min(MOST_SEQ, seq + Math.max(1, Math.min(seconds, LONGEST_STEP)))
}

/**
 * An index that no other box has; undefined when all are given. Looked for from one on that goes by the box: a home that has forgotten
 * draws the same again.
 */
export function freeInd(given: ReadonlySet<number>, nodeId: string): number | undefined {
  const first = Number.parseInt(nodeId.replaceAll('-', '').slice(0, 8), 16) % LAST_IND
  for (let i = 0; i < LAST_IND; i += 1) {
    const ind = FIRST_IND + ((first + i) % LAST_IND)
    if (!given.has(ind)) return ind
  }
  return undefined
}
