import { createHmac, type KeyObject } from 'node:crypto'
import {
  type Db,
  defineTable,
  drawnKey,
  isServiceError,
  type Pause,
  type Reader,
  storeCorrupt,
  type Table,
  type Tx,
  type Vault,
} from '@steeple/contracts'
import { hasIccids, simsWithIccids, simWithIccid } from '../store/iccid-store.ts'
import { simsWithIccidEnd } from '../store/sealed-store.ts'
import { wipeCard } from './card.ts'
import { openCard } from './sealing.ts'

interface IndexRow {
  readonly id: string
  /** The key of the keyed hash, sealed; AAD `sims_iccid_index/iccid`. A rotation of the vault seals it anew. */
  readonly key_sealed: Uint8Array
  /** All SIMs with a hash up to this have their `iccid_mac`. */
  readonly indexed_to: string
}

/** The one row of the index. */
export const ICCID_INDEX: Table<IndexRow> = defineTable<IndexRow>(
  'sims_iccid_index',
  ['id', 'key_sealed', 'indexed_to'],
  ['id'],
)

const ID = 'iccid'
/** Octets of a keyed hash, of which the first say under which key it is. No two cards share the others by chance. */
const MAC_OCTETS = 16
const TAG_OCTETS = 2
/** So many are found sooner one by one than by the statement for a list. */
const FEW_CARDS = 5
/** Behind every hash. */
export const ALL_INDEXED = 'g'

/** Gives the keyed hash of an ICCID. */
export interface IccidMac {
  (iccid: string): Uint8Array
  /** Whether that is a hash under the key in force. */
  isUnder(mac: Uint8Array | null): boolean
}

/**
 * Finds SIMs by their ICCID, which is stored sealed: beside it stands its HMAC-SHA-256 under a key of the vault's, so
 * that a look-up opens no card. Rows from before are indexed bit by bit; until then they are found by opening those
 * that share the last four digits.
 */
export interface IccidIndex {
  /** The keyed hash in force. Makes its key when there is none or the one that is there does not open. */
  mac(): Promise<IccidMac>
  /** Up to which hash all SIMs are indexed. */
  indexedTo(reader: Reader): Promise<string>
  /** The SIM that is not revoked and has that ICCID, by its hash. `indexedTo`: as it was asked for before. */
  holder(reader: Reader, card: IndexedIccid, indexedTo: string): Promise<string | undefined>
  /** As `holder` of many cards: the holders of those that have one, by ICCID. */
  holders(
    reader: Reader,
    cards: readonly IndexedIccid[],
    search: { readonly indexedTo: string; readonly pause: Pause },
  ): Promise<ReadonlyMap<string, string>>
}

/** An ICCID and its keyed hash. */
export interface IndexedIccid {
  readonly iccid: string
  readonly mac: Uint8Array
}

/** The index over the store. Its key is read when it is first needed. */
export function iccidIndex(db: Db, vault: Vault): IccidIndex {
  const keyNow = drawnKey(db, vault, {
    rowId: `sims_iccid_index/${ID}`,
    sealed: async (reader) => (await ICCID_INDEX.find(reader, { id: ID }))?.key_sealed,
    keep: async (tx, key_sealed) => {
      // A store without cards has nothing to be indexed later.
      const indexed_to = (await hasIccids(tx)) ? '' : ALL_INDEXED
      await ICCID_INDEX.put(tx, { id: ID, key_sealed, indexed_to })
      return true
    },
    // Then everything is indexed anew.
    isReplaced: true,
  })
  let mac: { readonly key: KeyObject; readonly of: IccidMac } | undefined
  const macNow = async (): Promise<IccidMac> => {
    const key = await keyNow()
    if (mac?.key !== key) mac = { key, of: macUnder(key) }
    return mac.of
  }
  const holder: IccidIndex['holder'] = async (reader, { iccid, mac: wanted }, indexedTo) => {
    const last4 = lastFour(iccid)
    const found = await simWithIccid(reader, last4, wanted)
    if (found !== undefined || indexedTo >= ALL_INDEXED) return found
    const { isUnder } = await macNow()
    for (const sim of await simsWithIccidEnd(reader, last4, indexedTo))
      if (!isUnder(sim.iccid_mac) && iccidOf(vault, sim) === iccid) return sim.hash
    return undefined
  }
  return {
    mac: macNow,
    indexedTo: async (reader) => (await ICCID_INDEX.find(reader, { id: ID }))?.indexed_to ?? '',
    holder,
    holders: async (reader, cards, { indexedTo, pause }) => {
      if (indexedTo >= ALL_INDEXED && cards.length > FEW_CARDS) return await indexedHolders(reader, cards)
      const holders = new Map<string, string>()
      for (const card of cards) {
        const hash = await holder(reader, card, indexedTo)
        if (hash !== undefined) holders.set(card.iccid, hash)
        await pause()
      }
      return holders
    },
  }
}

async function indexedHolders(
  reader: Reader,
  cards: readonly IndexedIccid[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = cards.map(({ iccid, mac }) => ({ last4: lastFour(iccid), mac }))
  const sims = await simsWithIccids(reader, wanted)
  if (sims.length === 0) return new Map()
  const iccids = new Map(cards.map(({ iccid, mac }) => [hexOf(mac), iccid]))
  return new Map(sims.map(({ hash, iccid_mac }) => [iccids.get(hexOf(iccid_mac)) ?? '', hash]))
}

function lastFour(iccid: string): string {
  return iccid.slice(-4)
}

function hexOf(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('hex')
}

/** Remembers that all SIMs up to `hash` are indexed, in the transaction that has done it. */
export async function noteIndexed(tx: Tx, hash: string): Promise<void> {
  const row = await ICCID_INDEX.find(tx, { id: ID })
  if (row !== undefined) await ICCID_INDEX.put(tx, { ...row, indexed_to: hash })
}

/** The ICCID on a card; undefined when it has none or the row is damaged, which is nobody's until it is mended. */
export function iccidOf(
  vault: Vault,
  sim: { readonly hash: string; readonly secrets_sealed: Uint8Array },
): string | undefined {
  try {
    const card = openCard(vault, sim)
    const text = Buffer.from(card.iccid).toString('ascii')
    wipeCard(card)
    return text === '' ? undefined : text
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}

function macUnder(key: KeyObject): IccidMac {
  const tag = createHmac('sha256', key).update('tag').digest().subarray(0, TAG_OCTETS)
  const mac = (iccid: string): Uint8Array => {
    const digest = createHmac('sha256', key).update(iccid).digest()
    digest.set(tag)
    return digest.subarray(0, MAC_OCTETS)
  }
  const isUnder = (one: Uint8Array | null): boolean =>
    one !== null && tag.every((octet, i) => octet === one[i])
  return Object.assign(mac, { isUnder })
}
