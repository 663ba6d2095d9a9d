import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Context,
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
import { cardsWithIccidEnd, hasIccids, hasMacIn, simsWithIccids, simWithIccid } from '../store/iccid-store.ts'
import { ifSound, SIMS, type SimRow } from '../store/sim-store.ts'
import { openCard, wipeCard } from './card.ts'

/** Digits at the end of an ICCID that are stored in clear. */
export const ICCID_END = 4

/** Octets that say under which key a keyed hash is, at its beginning. */
const TAG_OCTETS = 2
/** With 64 bits behind the tag no two of a million blocks have the same hash but by a chance of one in 37 million. */
const BLOCK_MAC_OCTETS = 10
/** Of the keyed hash of a whole ICCID, which is how rows were indexed up to 0.2.0. */
const WHOLE_MAC_OCTETS = 16

/** Gives the keyed hash of an ICCID. */
export interface IccidMac {
  (iccid: string): Uint8Array
  /** All of its hashes. */
  readonly range: MacRange
  /** Whether that is one of its hashes. */
  isUnder(mac: Uint8Array | null): boolean
}

/** Keyed hashes from `from` up to but without `to`. */
export interface MacRange {
  readonly from: Uint8Array
  readonly to: Uint8Array
}

/**
 * HMAC-SHA-256 of an ICCID without its last four digits: cards that were made one after the other share it, so those of a
 * delivery stand beside each other in an index. With the last four digits it is the one of the whole ICCID.
 */
export function blockMac(key: KeyObject): IccidMac {
  return macUnder(key, BLOCK_MAC_OCTETS, (iccid) => iccid.slice(0, -ICCID_END))
}

/** HMAC-SHA-256 of a whole ICCID. */
export function wholeMac(key: KeyObject): IccidMac {
  return macUnder(key, WHOLE_MAC_OCTETS, (iccid) => iccid)
}

function macUnder(key: KeyObject, octets: number, partOf: (iccid: string) => string): IccidMac {
  const mark = createHmac('sha256', key).update('tag').digest().subarray(0, TAG_OCTETS)
  const mac = (iccid: string): Uint8Array => {
    const digest = createHmac('sha256', key).update(partOf(iccid)).digest()
    digest.set(mark)
    return digest.subarray(0, octets)
  }
  const isUnder = (one: Uint8Array | null): boolean =>
    one !== null && one.length === octets && mark.every((octet, i) => octet === one[i])
  // No hash is as long as the bound.
  const range = { from: mark, to: Buffer.concat([mark, new Uint8Array(WHOLE_MAC_OCTETS).fill(0xff)]) }
  return Object.assign(mac, { range, isUnder })
}

interface IndexRow {
  readonly id: string
  /** The key of the keyed hashes, sealed; AAD `sims_iccid_index/<id>`. A rotation of the vault seals it anew. */
  readonly key_sealed: Uint8Array
  /** All SIMs with a hash up to this have their `iccid_mac` under that key. */
  readonly indexed_to: string
}

/** The keys of the index: the one in force, and the one of versions up to 0.2.0 as long as rows may be under it. */
export const ICCID_INDEX: Table<IndexRow> = defineTable(
  'sims_iccid_index',
  ['id', 'key_sealed', 'indexed_to'],
  ['id'],
)

/** Of hashes of blocks. */
const BLOCKS = 'block'
/** Of hashes of whole ICCIDs. */
const WHOLE = 'iccid'
/** So many are found sooner one by one than by the statement for a list. */
const FEW_CARDS = 5
export const ALL_INDEXED = 'g'

/**
 * Finds SIMs by their ICCID, which is stored sealed: beside it stand its last four digits and the HMAC-SHA-256 of the others
 * under a key of the vault's, so that a look-up opens no card. Rows of versions up to 0.2.0 have a hash of the whole ICCID,
 * which is looked for as well, or none; they are indexed anew bit by bit. What has no hash under a known key is found until
 * then by opening those that share the last four digits.
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

/** The keyed hash in force, and the one that rows of earlier versions may have. */
interface Macs {
  readonly now: IccidMac
  readonly before: IccidMac | undefined
}

/** The index over the store. Its keys are read when they are first needed. */
export function iccidIndex(db: Db, vault: Vault): IccidIndex {
  const keyNow = drawnKey(db, vault, {
    rowId: rowIdOf(BLOCKS),
    sealed: async (reader) => (await ICCID_INDEX.find(reader, { id: BLOCKS }))?.key_sealed,
    keep: async (tx, key_sealed) => {
      // A store without cards has nothing to be indexed later.
      const indexed_to = (await hasIccids(tx)) ? '' : ALL_INDEXED
      await ICCID_INDEX.put(tx, { id: BLOCKS, key_sealed, indexed_to })
      return true
    },
    // Then everything is indexed anew.
    isReplaced: true,
  })
  let macs: Promise<Macs> | undefined
  const macsNow = (): Promise<Macs> => {
    macs ??= macsOf(db, vault, keyNow)
    macs.catch(() => {
      macs = undefined
    })
    return macs
  }
  const holder: IccidIndex['holder'] = async (reader, { iccid, mac: wanted }, indexedTo) => {
    const all = await macsNow()
    const { before } = all
    const last4 = lastFour(iccid)
    const found =
      (await simWithIccid(reader, last4, wanted)) ??
      (before === undefined ? undefined : await simWithIccid(reader, last4, before(iccid)))
    if (found !== undefined || indexedTo >= ALL_INDEXED) return found
    for (const sim of await cardsWithIccidEnd(reader, last4)) {
      const isIndexed = all.now.isUnder(sim.iccid_mac) || before?.isUnder(sim.iccid_mac) === true
      if (!isIndexed && sim.state !== 'revoked' && iccidOf(vault, sim) === iccid) return sim.hash
    }
    return undefined
  }
  return {
    mac: async () => (await macsNow()).now,
    indexedTo,
    holder,
    holders: async (reader, cards, { indexedTo, pause }) => {
      if (indexedTo >= ALL_INDEXED && cards.length > FEW_CARDS)
        return await indexedHolders(reader, cards, (await macsNow()).before)
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

async function indexedTo(reader: Reader): Promise<string> {
  return (await ICCID_INDEX.find(reader, { id: BLOCKS }))?.indexed_to ?? ''
}

function rowIdOf(id: string): string {
  return `sims_iccid_index/${id}`
}

async function macsOf(db: Db, vault: Vault, keyNow: () => Promise<KeyObject>): Promise<Macs> {
  const now = blockMac(await keyNow())
  const key = await keyBefore(db, vault)
  if (key === undefined) return { now, before: undefined }
  const before = wholeMac(key)
  const hasRows = await hasMacIn(db, before.range)
  const upTo = await indexedTo(db)
  if (!hasRows && upTo >= ALL_INDEXED) {
    // No earlier version has written meanwhile. One that does all the same makes a key for itself, which the next start finds.
    await db.write((tx) => ICCID_INDEX.remove(tx, { id: WHOLE }))
    return { now, before: undefined }
  }
  await db.write(async (tx) => {
    if (hasRows && upTo >= ALL_INDEXED) await noteIndexed(tx, '')
    // Should the version before run again: nothing that was written since is indexed as it does that.
    const row = await ICCID_INDEX.find(tx, { id: WHOLE })
    if (row !== undefined && row.indexed_to !== '') await ICCID_INDEX.put(tx, { ...row, indexed_to: '' })
  })
  return { now, before }
}

/** The key of versions up to 0.2.0; undefined when there is none or it does not open. */
async function keyBefore(db: Db, vault: Vault): Promise<KeyObject | undefined> {
  return await ifSound(async () => {
    const row = await ICCID_INDEX.find(db, { id: WHOLE })
    if (row === undefined) return undefined
    const octets = vault.open(row.key_sealed, rowIdOf(WHOLE))
    try {
      return createSecretKey(octets)
    } finally {
      octets.fill(0)
    }
  })
}

async function indexedHolders(
  reader: Reader,
  cards: readonly IndexedIccid[],
  before: IccidMac | undefined,
): Promise<ReadonlyMap<string, string>> {
  const holders = new Map<string, string>()
  const look = async (macOf: (card: IndexedIccid) => Uint8Array): Promise<void> => {
    const wanted = cards.map((card) => ({ iccid: card.iccid, last4: lastFour(card.iccid), mac: macOf(card) }))
    const sims = await simsWithIccids(reader, wanted)
    if (sims.length === 0) return
    const iccids = new Map(wanted.map(({ iccid, last4, mac }) => [hexOf(mac) + last4, iccid]))
    for (const { hash, iccid_mac, iccid_last4 } of sims)
      holders.set(iccids.get(hexOf(iccid_mac) + iccid_last4) ?? '', hash)
  }
  if (before !== undefined) await look(({ iccid }) => before(iccid))
  await look(({ mac }) => mac)
  return holders
}

function lastFour(iccid: string): string {
  return iccid.slice(-ICCID_END)
}

function hexOf(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('hex')
}

/** Remembers that all SIMs up to `hash` are indexed, in the transaction that has done it. */
async function noteIndexed(tx: Tx, hash: string): Promise<void> {
  const row = await ICCID_INDEX.find(tx, { id: BLOCKS })
  if (row !== undefined) await ICCID_INDEX.put(tx, { ...row, indexed_to: hash })
}

/** The ICCID on a card; undefined when it has none or the row is damaged, which is nobody's until it is mended. */
export function iccidOf(vault: Vault, sim: Pick<SimRow, 'hash' | 'secrets_sealed'>): string | undefined {
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

/** SIMs of one write: short enough not to hold up other writers. */
const AT_ONCE = 100
/** How long one call works; called each second, a tenth of a core at most. */
const WORK_MS = 80

const CARDS_AFTER = `select hash, iccid_last4, iccid_mac, secrets_sealed from sims_sim
  where hash > :after order by hash limit :limit`

type Card = Pick<SimRow, 'hash' | 'iccid_last4' | 'iccid_mac' | 'secrets_sealed'>

/**
 * Indexes the ICCIDs of SIMs that were stored before there was the index, by a version up to 0.2.0,
 * or under a key that is lost. Each call does a
 * piece and remembers how far it came, so a restart goes on there; it does nothing once all are indexed.
 */
export function iccidBackfill(
  { db }: Pick<Context, 'db'>,
  vault: Vault,
  index: IccidIndex,
): (signal: AbortSignal) => Promise<void> {
  let isDone = false
  return async (signal) => {
    if (isDone) return
    const macOf = await index.mac()
    const endMs = performance.now() + WORK_MS
    const before = await index.indexedTo(db)
    let after = before
    while (after < ALL_INDEXED && performance.now() < endMs) {
      signal.throwIfAborted()
      const cards = await db.all<Card>(CARDS_AFTER, { after, limit: AT_ONCE })
      const upTo = cards.length < AT_ONCE ? ALL_INDEXED : (cards.at(-1)?.hash ?? ALL_INDEXED)
      await write(db, missing(vault, macOf, cards), upTo)
      after = upTo
      await nextTurn()
    }
    // Pieces in which nothing was missing are noted in one go.
    if (after !== before) await db.write((tx) => noteIndexed(tx, after))
    isDone = after >= ALL_INDEXED
  }
}

async function write(db: Context['db'], macs: ReadonlyMap<string, Uint8Array>, upTo: string): Promise<void> {
  if (macs.size === 0) return
  await db.write(async (tx) => {
    for (const [hash, mac] of macs) await give(tx, hash, mac)
    await noteIndexed(tx, upTo)
  })
}

/** The keyed hashes that cards lack, by the hash of their SIM. */
function missing(vault: Vault, macOf: IccidMac, cards: readonly Card[]): ReadonlyMap<string, Uint8Array> {
  const macs = new Map<string, Uint8Array>()
  for (const card of cards) {
    if (card.iccid_last4 === null || macOf.isUnder(card.iccid_mac)) continue
    const iccid = iccidOf(vault, card)
    if (iccid !== undefined) macs.set(card.hash, macOf(iccid))
  }
  return macs
}

async function give(tx: Tx, hash: string, mac: Uint8Array): Promise<void> {
  // A damaged row stays as it is; the check of the store reports it.
  const row = await ifSound(() => SIMS.find(tx, { hash }))
  if (row !== undefined) await SIMS.change(tx, row, { ...row, iccid_mac: mac })
}
