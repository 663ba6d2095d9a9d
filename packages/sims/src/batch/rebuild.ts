import { type Reader, storeCorrupt, type Vault } from '@steeple/contracts'
import { MAX_ROWS } from '../import/import-schema.ts'
import { wipeCard } from '../secrets/card.ts'
import { wipe } from '../secrets/octets.ts'
import { openCard, openImsi } from '../secrets/sealing.ts'
import type { BatchRow } from '../store/batch-store.ts'
import { simsOfBatch } from '../store/sealed-store.ts'
import { type BatchFiles, batchFiles } from './batch-files.ts'
import { cardsCsv } from './cards-csv.ts'
import { sealCards } from './cards-file.ts'
import { manifestOf } from './manifest.ts'

/** The cards of a batch and its manifest's rows, from the store alone. */
interface Rebuilt {
  /** Plain `cards.csv`; the caller wipes it. */
  readonly csv: Uint8Array
  readonly rows: Awaited<ReturnType<typeof simsOfBatch>>
}

/** The plain `cards.csv` of a batch from the rows of its SIMs. The caller wipes it. Throws `store_corrupt`. */
export async function cardsFromRows(reader: Reader, vault: Vault, batch: BatchRow): Promise<Uint8Array> {
  return (await rebuilt(reader, vault, batch)).csv
}

/** The files of a batch from the rows of its SIMs. Throws `store_corrupt`. */
export async function filesFromRows(reader: Reader, vault: Vault, batch: BatchRow): Promise<BatchFiles> {
  const { csv, rows } = await rebuilt(reader, vault, batch)
  const key = vault.open(batch.key_sealed, `sims_batch/${batch.id}`)
  try {
    return batchFiles(manifestOf(batch, rows), sealCards(csv, key, batch.id))
  } finally {
    wipe(csv, key)
  }
}

/** The cards of an import. */
export interface ImportedCards {
  /** Plain `cards.csv`; the caller wipes it. */
  readonly csv: Uint8Array
  /** Of its first SIM, as all of an import are of one network. */
  readonly plmn: string
  readonly profile: string
}

/** The plain `cards.csv` of an import; undefined when there is none of that id. Throws `store_corrupt`. */
export async function cardsOfImport(
  reader: Reader,
  vault: Vault,
  id: string,
): Promise<ImportedCards | undefined> {
  const rows = await simsOfBatch(reader, id, MAX_ROWS)
  const [first] = rows
  if (first === undefined) return undefined
  return { csv: cardsOf(vault, rows).csv, plmn: first.plmn, profile: first.profile }
}

async function rebuilt(reader: Reader, vault: Vault, batch: BatchRow): Promise<Rebuilt> {
  const found = await simsOfBatch(reader, batch.id, batch.sims + 1)
  if (found.length !== batch.sims) throw storeCorrupt('sims_sim')
  return cardsOf(vault, found)
}

function cardsOf(vault: Vault, found: Rebuilt['rows']): Rebuilt {
  const numbered = found
    .map((row) => ({ row, imsi: openImsi(vault, row) }))
    .sort((one, other) => (one.imsi < other.imsi ? -1 : 1))
  const cards = numbered.map(({ row, imsi }) => ({ imsi, card: openCard(vault, row) }))
  try {
    return { csv: cardsCsv(cards), rows: numbered.map(({ row }) => row) }
  } finally {
    for (const { card } of cards) wipeCard(card)
  }
}
