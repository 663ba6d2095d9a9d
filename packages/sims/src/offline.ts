import { notFound, type Reader, storeCorrupt, type Vault } from '@steeple/contracts'
import { parsePlmn } from '@steeple/telecom'
import { BATCHES, type BatchRow, cardsOfBatch, cardsOfImport } from './batches.ts'
import { wipe } from './secrets/card.ts'
import { suciInfo } from './secrets/suci-info.ts'

/** How the cards of a batch are written: as stored, as pySim reads them, or as JSON. */
export type CardFormat = 'csv' | 'pysim' | 'json'

/** Where a batch is: the store and the data directory of a node, without a running service. */
export interface BatchPlace {
  readonly reader: Reader
  readonly vault: Vault
  readonly dataDir: string
  /** The home network keys that the core's UDM is given, by id. */
  readonly homeKeys: ReadonlySet<number>
}

export { homeKeysOf } from './secrets/suci-info.ts'

/**
 * The cards of a batch or an import in clear text, for a card writer. The one way in which keys leave the node as text.
 * Throws `not_found` when there is neither a batch nor an import of that id, `store_corrupt` when its rows are damaged.
 */
export async function unsealBatch(place: BatchPlace, batchId: string, format: CardFormat): Promise<string> {
  const batch = await BATCHES.find(place.reader, { id: batchId })
  if (batch === undefined) return await unsealImport(place, batchId, format)
  const csv = await cardsOfBatch(place.reader, place.vault, batch)
  const text = Buffer.from(csv).toString('ascii')
  wipe(csv)
  return written(
    text,
    batch,
    format,
    format === 'json' ? await suciInfo(place.dataDir, place.homeKeys) : undefined,
  )
}

async function unsealImport(place: BatchPlace, id: string, format: CardFormat): Promise<string> {
  const found = await cardsOfImport(place.reader, place.vault, id)
  if (found === undefined) throw notFound(`batch ${id}; look for it in the list of SIMs`)
  const text = Buffer.from(found.csv).toString('ascii')
  wipe(found.csv)
  const suci = format === 'json' ? await suciInfo(place.dataDir, place.homeKeys) : undefined
  return written(text, { plmn: found.plmn, label: null }, format, suci)
}

/** TS 31.102 §4.2.12. */
const SPN_CHARACTERS = 16

/** The columns that pySim-prog reads with `--source csv`. */
const PYSIM: readonly string[] = [
  ...['name', 'iccid', 'mcc', 'mnc', 'imsi', 'smsp', 'ki', 'opc'],
  ...['adm1', 'pin_adm_hex'],
]
/** ADM1 as octets. pySim-prog takes a cell of `adm1` as text, and one of `pin_adm_hex` as octets, with both columns there. */
const HEX_ADM = /^[0-9a-fA-F]{16}$/

function written(
  csv: string,
  batch: Pick<BatchRow, 'plmn' | 'label'>,
  format: CardFormat,
  suci: object | undefined,
): string {
  if (format === 'csv') return csv
  const cards = cardsOf(csv)
  if (format === 'json') {
    const told = suci === undefined ? cards : cards.map((card) => ({ ...card, ef_suci_calc_info: suci }))
    return `${JSON.stringify(told, undefined, 2)}\n`
  }
  const plmn = parsePlmn(batch.plmn)
  if (plmn === undefined) throw storeCorrupt('sims_batch')
  // What the phone shows as the name of its network (EF.SPN, TS 31.102 §4.2.12): no profile's name is one.
  const name = (batch.label ?? 'Steeple').replaceAll(/[^A-Za-z0-9 ._-]/g, '_').slice(0, SPN_CHARACTERS)
  const lines = cards.map((card) => {
    const adm = card.adm1 ?? ''
    const adms = HEX_ADM.test(adm) ? { adm1: '', pin_adm_hex: adm } : {}
    const cells: Readonly<Record<string, string>> = { name, mcc: plmn.mcc, mnc: plmn.mnc, ...card, ...adms }
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
