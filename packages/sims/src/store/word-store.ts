import type { Db, Reader, Tx } from '@steeple/contracts'
import { keysOf } from '../find/words.ts'
import type { SimRow } from './sim-row.ts'

/** What of a SIM its words come from. */
export type Worded = Pick<SimRow, 'hash' | 'label' | 'msisdn'>

/** Words that one statement adds. */
const MOST_AT_ONCE = 8
/** Statements by their number of words. */
const ADD: readonly string[] = Array.from({ length: MOST_AT_ONCE }, (_, i) => {
  const values = Array.from({ length: i + 1 }, (_none, at) => `(:hash, :word_${at})`)
  return `insert into sims_word (hash, word) values ${values.join(', ')} on conflict (hash, word) do nothing`
})
const REMOVE = 'delete from sims_word where hash = :hash'

/** Adds the words of new SIMs, inside the transaction that adds them. */
export async function addWords(tx: Tx, rows: readonly Worded[]): Promise<void> {
  for (const row of rows) {
    const words = keysOf(row)
    for (let from = 0; from < words.length; from += MOST_AT_ONCE) {
      const some = words.slice(from, from + MOST_AT_ONCE)
      const params = Object.fromEntries(some.map((word, i) => [`word_${i}`, word]))
      await tx.run(ADD[some.length - 1] ?? '', { hash: row.hash, ...params })
    }
  }
}

/** Puts the words of a changed SIM in the place of those it had. */
export async function replaceWords(tx: Tx, row: Worded): Promise<void> {
  await tx.run(REMOVE, { hash: row.hash })
  await addWords(tx, [row])
}

/** Forgets the words of a SIM that is removed. */
export async function removeWords(tx: Tx, hash: string): Promise<void> {
  await tx.run(REMOVE, { hash })
}

const BETWEEN = 'select distinct hash from sims_word where word >= :from and word < :to limit :limit'
/** Sorts behind every hexadecimal digit. */
const BEHIND_HEX = 'g'

/** At most `limit` hashes of SIMs with a word that begins so. */
export async function hashesByWord(
  reader: Reader,
  beginning: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await reader.all<{ readonly hash: string }>(BETWEEN, {
    from: beginning,
    to: beginning + BEHIND_HEX,
    limit,
  })
  return rows.map(({ hash }) => hash)
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
