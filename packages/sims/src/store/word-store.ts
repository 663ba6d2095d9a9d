import type { Db, Reader, Tx } from '@steeple/contracts'
import { hashList, type SimRow } from './sim-store.ts'

/** What of a SIM is searched. */
export type Searched = Pick<SimRow, 'hash' | 'label' | 'msisdn' | 'iccid_last4'>

/** Octets of a word that are told apart, in hexadecimal. */
const WORD_DIGITS = 64
const LABEL = 'l'
const MSISDN = 'm'

/** The words of a text: lower case, without accents, what is neither letter nor digit parts them. */
export function wordsOf(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return [...new Set(plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== ''))]
}

/**
 * How a word of a label is stored: its octets in hexadecimal, so that every database orders it alike and what begins with
 * a word is a range.
 */
export function labelKey(word: string): string {
  return LABEL + Buffer.from(word).toString('hex').slice(0, WORD_DIGITS)
}

/** How an MSISDN is stored: backwards, so that its last digits are a beginning. */
export function msisdnKey(digits: string): string {
  return MSISDN + [...digits].reverse().join('')
}

/** Everything that a SIM is found by beside its own columns. */
function keysOf({ label, msisdn }: Pick<SimRow, 'label' | 'msisdn'>): readonly string[] {
  const words = label === null ? [] : wordsOf(label).map(labelKey)
  return [...new Set(msisdn === null ? words : [...words, msisdnKey(msisdn)])]
}

/** What of a SIM its words come from. */
type Worded = Pick<SimRow, 'hash' | 'label' | 'msisdn'>

const ADD = 'insert into sims_word (hash, word) values (:hash, :word) on conflict (hash, word) do nothing'
const REMOVE = 'delete from sims_word where hash = :hash'

/** Adds the words of a new SIM, inside the transaction that adds it. */
export async function addWords(tx: Tx, row: Worded): Promise<void> {
  for (const word of keysOf(row)) await tx.run(ADD, { hash: row.hash, word })
}

/** Puts the words of a changed SIM in the place of those it had. */
export async function replaceWords(tx: Tx, row: Worded): Promise<void> {
  await tx.run(REMOVE, { hash: row.hash })
  await addWords(tx, row)
}

/** Forgets the words of a SIM that is removed. */
export async function removeWords(tx: Tx, hash: string): Promise<void> {
  await tx.run(REMOVE, { hash })
}

const BETWEEN = 'select distinct hash from sims_word where word >= :from and word < :to limit :limit'
/** Sorts behind every hexadecimal digit. */
const BEHIND_HEX = 'g'

/** At most `limit` hashes of SIMs with a word that begins so. */
export function hashesByWord(reader: Reader, beginning: string, limit: number): Promise<readonly string[]> {
  return hashList(reader, BETWEEN, { from: beginning, to: beginning + BEHIND_HEX, limit })
}

/** Whether the words of all SIMs are there: a store of an earlier version has none. */
export async function areWordsBuilt(reader: Reader): Promise<boolean> {
  return (await reader.get("select name from sims_index where name = 'word'")) !== undefined
}

const SOME = `select hash, label, msisdn from sims_sim where hash > :after
  and (label is not null or msisdn is not null) order by hash limit :limit`
const ROWS_AT_ONCE = 250

/** Builds the words of every SIM, in transactions of a few rows; may be broken off and begun again. */
export async function buildWords(db: Db, signal: AbortSignal): Promise<void> {
  let after = ''
  for (;;) {
    signal.throwIfAborted()
    const count = await db.write(async (tx) => {
      const rows = await tx.all<Worded>(SOME, { after, limit: ROWS_AT_ONCE })
      for (const row of rows) await replaceWords(tx, row)
      after = rows.at(-1)?.hash ?? after
      return rows.length
    })
    if (count < ROWS_AT_ONCE) break
  }
  const built = "insert into sims_index (name) values ('word') on conflict (name) do nothing"
  await db.write((tx) => tx.run(built))
}
