import { type Imsi, type Reader, storeCorrupt, type Vault } from '@steeple/contracts'
import { MAX_ROWS } from '../import/import-schema.ts'
import { ascii, type Card, csvLine, hexAscii, openCard, openImsi, wipe, wipeCard } from '../secrets/card.ts'
import { simsOfBatch } from '../store/card-store.ts'
import type { BatchRow } from './batches.ts'

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

/** The cards of an import. */
export interface ImportedCards {
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
