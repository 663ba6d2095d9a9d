import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isServiceError, notFound, type Reader, storeCorrupt, type Vault } from '@steeple/contracts'
import { parsePlmn } from '@steeple/telecom'
import { batchDir, CARDS_FILE } from './batch/batch-files.ts'
import { openCards } from './batch/cards-file.ts'
import { cardsFromRows } from './batch/rebuild.ts'
import { wipe } from './secrets/octets.ts'
import { BATCHES, type BatchRow } from './store/batch-store.ts'

/** How the cards of a batch are written: as stored, as pySim reads them, or as JSON. */
export type CardFormat = 'csv' | 'pysim' | 'json'

/** Where a batch is: the store and the data directory of a node, without a running service. */
export interface BatchPlace {
  readonly reader: Reader
  readonly vault: Vault
  readonly dataDir: string
}

/**
 * The cards of a batch in clear text, for a card writer. The one way in which keys leave the node as text. A file that
 * is missing or damaged is made up for from the rows.
 * Throws `not_found` when there is no such batch, `store_corrupt` when its rows are damaged too.
 */
export async function unsealBatch(place: BatchPlace, batchId: string, format: CardFormat): Promise<string> {
  const batch = await BATCHES.find(place.reader, { id: batchId })
  if (batch === undefined) throw notFound(`batch ${batchId}`)
  const csv = (await cardsFromFile(place, batch)) ?? (await cardsFromRows(place.reader, place.vault, batch))
  const text = Buffer.from(csv).toString('ascii')
  wipe(csv)
  return written(text, batch, format)
}

/** Undefined: there is no file that could be used. */
async function cardsFromFile(place: BatchPlace, batch: BatchRow): Promise<Uint8Array | undefined> {
  const path = join(batchDir(place.dataDir, batch.id), CARDS_FILE)
  const sealed = await readFile(path).catch(() => undefined)
  if (sealed === undefined) return undefined
  const key = place.vault.open(batch.key_sealed, `sims_batch/${batch.id}`)
  try {
    return openCards(sealed, key, batch.id)
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt('').code) return undefined
    throw error
  } finally {
    wipe(key)
  }
}

/** The columns that pySim-prog reads with `--source csv`. */
const PYSIM: readonly string[] = ['name', 'iccid', 'mcc', 'mnc', 'imsi', 'smsp', 'ki', 'opc', 'adm1']

function written(csv: string, batch: BatchRow, format: CardFormat): string {
  if (format === 'csv') return csv
  const cards = cardsOf(csv)
  if (format === 'json') return `${JSON.stringify(cards, undefined, 2)}\n`
  const plmn = parsePlmn(batch.plmn)
  if (plmn === undefined) throw storeCorrupt('sims_batch')
  const name = (batch.label ?? batch.profile).replaceAll(/[^A-Za-z0-9 ._-]/g, '_')
  const lines = cards.map((card) => {
    const cells: Readonly<Record<string, string>> = { name, mcc: plmn.mcc, mnc: plmn.mnc, ...card }
    return PYSIM.map((column) => cells[column] ?? '').join(',')
  })
  return `${[PYSIM.join(','), ...lines].join('\n')}\n`
}

/** The lines of cards.csv, which has no quotes, as objects. */
function cardsOf(csv: string): readonly Readonly<Record<string, string>>[] {
  const [header = '', ...lines] = csv.trimEnd().split('\n')
  const columns = header.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? '']))
  })
}
