import { readdir, rm, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Context,
  defineTable,
  type Imsi,
  type Reader,
  storeCorrupt,
  type Table,
  type Vault,
} from '@steeple/contracts'
import { MAX_ROWS } from './import/import-schema.ts'
import { ascii, type Card, csvLine, hexAscii, openCard, openImsi, wipe, wipeCard } from './secrets/card.ts'
import { simsOfBatch } from './store/sim-store.ts'

/** A SIM on its way to a card. */
export interface NewCard {
  readonly imsi: Imsi
  readonly card: Card
}

/** The columns of `cards.csv`. */
const CARD_COLUMNS: readonly string[] = ['imsi', 'iccid', 'ki', 'opc', 'adm1', 'pin1', 'puk1', 'pin2', 'puk2']

/** The plain `cards.csv` of a batch, built without strings. The caller wipes it. */
export function cardsCsv(cards: readonly NewCard[]): Uint8Array {
  const lines = cards.map(cardLine)
  const csv = new Uint8Array(Buffer.concat([ascii(`${CARD_COLUMNS.join(',')}\n`), ...lines]))
  wipe(...lines)
  return csv
}

function cardLine({ imsi, card }: NewCard): Uint8Array {
  const ki = hexAscii(card.ki)
  const opc = hexAscii(card.opc)
  const { iccid, adm1, pin1, puk1, pin2, puk2 } = card
  const line = csvLine([ascii(imsi), iccid, ki, opc, adm1, pin1, puk1, pin2, puk2])
  wipe(ki, opc)
  return line
}

type Rows = Awaited<ReturnType<typeof simsOfBatch>>

/** The plain `cards.csv` of a batch from the rows of its SIMs. The caller wipes it. Throws `store_corrupt`. */
export async function cardsOfBatch(reader: Reader, vault: Vault, batch: BatchRow): Promise<Uint8Array> {
  const found = await simsOfBatch(reader, batch.id, batch.sims + 1)
  if (found.length !== batch.sims) throw storeCorrupt('sims_sim')
  return cardsOf(vault, found)
}

interface ImportedCards {
  /** Plain `cards.csv`; the caller wipes it. */
  readonly csv: Uint8Array
  /** Of its first SIM, as all of an import are of one network. */
  readonly plmn: string
}

/** The plain `cards.csv` of an import; undefined when there is none of that id. Throws `store_corrupt`. */
export async function cardsOfImport(
  reader: Reader,
  vault: Vault,
  id: string,
): Promise<ImportedCards | undefined> {
  const rows = await simsOfBatch(reader, id, MAX_ROWS)
  const [first] = rows
  return first === undefined ? undefined : { csv: cardsOf(vault, rows), plmn: first.plmn }
}

function cardsOf(vault: Vault, rows: Rows): Uint8Array {
  const cards = rows.map((row) => ({ imsi: openImsi(vault, row), card: openCard(vault, row) }))
  try {
    return cardsCsv(cards.sort((one, other) => (one.imsi < other.imsi ? -1 : 1)))
  } finally {
    for (const { card } of cards) wipeCard(card)
  }
}

export interface BatchRow {
  readonly id: string
  readonly created_at_ms: number
  readonly sims: number
  readonly profile: string
  readonly plmn: string
  readonly label: string | null
  /** Of versions up to 0.2.0, which kept a file of cards under it: empty since, and sealed; AAD `sims_batch/<id>`. */
  readonly key_sealed: Uint8Array
  /** Kind and id of who issued it; null for one from before that was kept. */
  readonly issued_by: string | null
  /** Of versions up to 0.2.0: since when those files were on the disk. */
  readonly files_at_ms: number | null
}

export const BATCHES: Table<BatchRow> = defineTable(
  'sims_batch',
  ['id', 'created_at_ms', 'sims', 'profile', 'plmn', 'label', 'key_sealed', 'issued_by', 'files_at_ms'],
  ['id'],
)

const LABEL_OF_BATCH = `select hash from sims_sim
  where batch_id = :batch_id and (label = :label or substr(label, 1, :length) = :begin) and hash <> :but limit 1`

/** Whether a SIM of a batch other than `but` has that label, or it with a number. */
export async function isLabelOfBatch(
  reader: Reader,
  batch_id: string,
  label: string,
  but: string,
): Promise<boolean> {
  const begin = `${label} `
  return (
    (await reader.get(LABEL_OF_BATCH, { batch_id, label, begin, length: begin.length, but })) !== undefined
  )
}

/** The directory of one batch, as the answer of an issue names it. Nothing is written there. */
export function batchDir(dataDir: string, batchId: string): string {
  return join(batchesDir(dataDir), batchId)
}

/**
 * Removes the sealed card files that versions up to 0.2.0 wrote at each issue: cards are made from the rows when they are
 * exported. A batch with damaged rows keeps its files.
 */
export async function removeOldFiles(context: Context, vault: Vault): Promise<void> {
  const { data_dir: dataDir } = context.settings.server
  const names = await readdir(batchesDir(dataDir)).catch(() => [])
  for (const id of names.filter((name) => /^b-[0-9a-z-]+$/.test(name))) {
    if (context.retiring.aborted) return
    try {
      const batch = await BATCHES.find(context.db, { id })
      if (batch !== undefined) wipe(await cardsOfBatch(context.db, vault, batch))
      await rm(batchDir(dataDir, id), { recursive: true, force: true })
    } catch (err) {
      context.log.warn({ batch: id, err }, 'files of a batch stay: its SIMs cannot be read')
    }
    await nextTurn()
  }
  // It stays where something else lies in it.
  await rmdir(batchesDir(dataDir)).catch(() => undefined)
}

function batchesDir(dataDir: string): string {
  return resolve(join(dataDir, 'batches'))
}
