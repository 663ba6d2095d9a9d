import {
  type BatchResult,
  chunksOf,
  countText,
  type HssSurvey,
  type Imsi,
  notFound,
  type Settings,
  type Subscriber,
  type SubscriberDifference,
  sectionOf,
  validationFailed,
} from '@steeple/contracts'
import { pause } from '@steeple/southbound'
import {
  BATCH,
  checkedWrites,
  errorOf,
  gathered,
  imsiOf,
  inBatches,
  itself,
  type PlacedWrite,
  type Results,
  type SubscriberWrites,
  writeInWaves,
} from '../batch.ts'
import { type DriverKind, hssOf, STOCK_SLICES } from '../config.ts'
import type { WriteBackDriver } from '../driver.ts'
import type { Doc, DocumentLink, WriteOp } from '../links/document-link.ts'
import { lineageOf } from '../links/lineage.ts'
import { linkLooks, linkOf } from '../links/links.ts'
import { isSame, type Snssai } from './document.ts'
import { foundOf, isBlocked, isGhost, WITHOUT_KEYS } from './found.ts'
import { heldOf, observedOf, READ_FIELDS } from './observed.ts'
import { docsOf } from './slices.ts'
import { blockWrites, cancelWrites, lacksSqn, unblockWrites, upsertWrites } from './writes.ts'

/** What of a document is read besides, to compare keys. */
const KEY_FIELDS: Doc = { 'security.k': 1, 'security.opc': 1, 'security.op': 1 }

/** Names for people, of fields that are not called as people call them. */
const NAMES: Readonly<Record<string, string>> = {
  'security.k': 'Ki',
  'security.opc': 'OPc',
  'security.op': 'OP',
  'security.amf': 'AMF',
  'security.sqn': 'SQN',
  msisdn: 'MSISDN',
  ambr: 'AMBR',
  slice: 'slices and APNs',
}

/** What an upsert of a subscriber would change in its document, types included: the core ignores what has another one. */
export function differencesOf(
  subscriber: Subscriber,
  doc: Doc,
  slices: readonly Snssai[],
): SubscriberDifference {
  const paths = upsertWrites(subscriber, doc, slices).flatMap((write) => changedBy(write, doc))
  const fields = [...new Set(paths)].map((path) => NAMES[path] ?? path)
  return { fields, isSqnLost: lacksSqn(subscriber, doc) }
}

function changedBy(write: WriteOp, doc: Doc): readonly string[] {
  if (!('updateOne' in write)) return []
  const { $set = {}, $unset = {} } = write.updateOne.update as { $set?: Doc; $unset?: Doc } // as upsertWrites makes them
  const set = Object.entries($set).filter(([path, value]) => !isSame(plainKey(path, at(doc, path)), value))
  const unset = Object.keys($unset).filter((path) => at(doc, path) !== undefined)
  return [...set.map(([path]) => path), ...unset]
}

/** Keys as they are written here: the core reads hexadecimal in either case. */
function plainKey(path: string, held: unknown): unknown {
  const isKey = path === 'security.k' || path === 'security.opc'
  return isKey && typeof held === 'string' ? held.toLowerCase() : held
}

function at(doc: Doc, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Doc | null | undefined)?.[key], doc)
}

/** The database and collection that Open5GS reads. */
const OPEN5GS_DATABASE = 'open5gs'
const COLLECTION = 'subscribers'
/** The HSS looks a changed document up when it hears of it: a removal waits so long after a block, ms. */
const CANCEL_MS = 1_100

/** Documents of somebody who can authenticate. */
const AUTHENTICATED: Doc = { security: { $exists: true } }
/** Subscribers that are listed. */
const MOST_LISTED = 100_000
/** Addresses that a survey tells of. */
const MOST_ADDRESSES = 1_000

/** What the driver needs beside the database. */
interface Open5gsOptions {
  readonly name: string
  readonly link: DocumentLink
  /** The slices that each subscriber gets; asked for at each call. */
  slices(): readonly Snssai[]
  /** How long a removal waits after its block; `CANCEL_MS` when absent. */
  readonly cancelMs?: number
}

/** Subscribers in the documents of Open5GS. */
export function open5gsDriver(options: Open5gsOptions): WriteBackDriver {
  const { name, link, cancelMs = CANCEL_MS } = options
  const lineage = lineageOf(link, COLLECTION)
  let index: 'ok' | 'conflict' | undefined
  const removals = recentRemovals()
  const prepare = async (signal: AbortSignal): Promise<void> => {
    if (index !== 'ok') index = await link.ensureIndex(COLLECTION, 'imsi', true, signal)
  }
  const upsert = async (
    batch: readonly Subscriber[],
    results: Results,
    signal: AbortSignal,
  ): Promise<void> => {
    const imsis = batch.map(({ imsi }) => imsi)
    // Those that were taken over keep their keys as they are written, OP too.
    const keysToo = batch.some(({ found }) => found !== undefined) ? KEY_FIELDS : {}
    const held = await read(link, imsis, signal, { ...READ_FIELDS, ...keysToo })
    // A database that holds nobody may have been emptied, and its index with it.
    if (held.size === 0) index = undefined
    await prepare(signal)
    const slices = options.slices()
    const work = checkedWrites(batch, results, (one) =>
      placed(bearable(upsertWrites(one, held.get(one.imsi), slices))),
    )
    await writeInWaves(link, work, results, signal)
  }
  return {
    name,
    pace: link.pace,
    observe: (imsis, signal) =>
      gathered(
        imsis,
        (batch) => read(link, batch, signal),
        (doc) => observedOf(doc, options.slices().length),
      ),
    existing: (imsis, signal) =>
      gathered(
        imsis,
        (batch) => read(link, batch, signal),
        (doc) => heldOf(doc, options.slices()),
      ),
    survey: (signal) => surveyOf(link, signal),
    everybody: async (signal) => {
      const docs = await link.find(COLLECTION, AUTHENTICATED, { imsi: 1 }, signal, MOST_LISTED)
      return [...new Set(docs.map(({ imsi }) => imsi).filter(isImsi))]
    },
    whole: (imsis, what, signal) =>
      gathered(
        imsis,
        (batch) => read(link, batch, signal, what === 'with keys' ? {} : WITHOUT_KEYS),
        (doc) => foundOf(doc, what),
      ),
    compare: (subscribers, signal) => compare(link, options.slices(), subscribers, signal),
    upsert: (subscribers, signal) =>
      inBatches(subscribers, imsiOf, signal, (batch, results) => upsert(batch, results, signal)),
    remove: (imsis, signal) => {
      removals.add(imsis)
      return inBatches(imsis, itself, signal, (batch, results) =>
        remove(link, batch, cancelMs, results, signal),
      )
    },
    setBlocked: (imsis, toBlocked, signal): Promise<BatchResult> =>
      inBatches(imsis, itself, signal, (batch, results) =>
        change(link, batch, toBlocked ? blockWrites : unblockWrites, results, signal),
      ),
    cancelLocation: (imsis, signal) =>
      inBatches(imsis, itself, signal, (batch, results) =>
        change(link, batch, cancelWrites, results, signal),
      ),
    probe: async (signal) => {
      const changes = await lineage.look(signal)
      return index === 'conflict'
        ? {
            isOk: false,
            detail: `${link.where}: imsi has no unique index; remove double subscribers`,
            changes,
          }
        : { isOk: true, detail: link.where, changes }
    },
    sweep: (signal) => sweep(link, removals.take(), signal),
    release: (signal) => lineage.release(signal),
    close: () => link.close(),
  }
}

function isImsi(value: unknown): value is Imsi {
  return typeof value === 'string' && /^[0-9]{6,15}$/.test(value)
}

async function read(
  link: DocumentLink,
  imsis: readonly Imsi[],
  signal: AbortSignal,
  fields: Doc = READ_FIELDS,
): Promise<ReadonlyMap<Imsi, Doc>> {
  return byImsi(await link.find(COLLECTION, { imsi: { $in: imsis } }, fields, signal))
}

/** Documents that can authenticate, and the addresses in them. */
async function surveyOf(link: DocumentLink, signal: AbortSignal): Promise<HssSurvey> {
  const subscribers = await link.count(COLLECTION, AUTHENTICATED, signal)
  const paths = ['slice.session.ue.ipv4', 'suspended_slice.session.ue.ipv4']
  const filter = { $or: paths.map((path) => ({ [path]: { $exists: true } })) }
  const docs = await link.find(COLLECTION, filter, { slice: 1, suspended_slice: 1 }, signal, MOST_ADDRESSES)
  const addresses = docs
    .flatMap(({ slice, suspended_slice: aside }) => [...docsOf(slice), ...docsOf(aside)])
    .flatMap((slice) => docsOf(slice.session))
    .flatMap(({ name, ue }) => {
      const address = (ue as Doc | undefined)?.ipv4
      return typeof address === 'string' ? [{ apn: String(name), address }] : []
    })
  const crowded = await link.count(COLLECTION, CROWDED, signal)
  return { subscribers, addresses: addresses.slice(0, MOST_ADDRESSES), problems: crowdedWords(crowded) }
}

/** Open5GS has room for so many APNs in a slice (OGS_MAX_NUM_OF_SESS), and aborts at one more. */
const MOST_APNS = 4
const CROWDED: Doc = {
  $or: ['slice', 'suspended_slice'].map((list) => ({ [`${list}.session.${MOST_APNS}`]: { $exists: true } })),
}

/** The same writes. Throws `validation_failed` for those that would put a slice before the HSS at which it ends. */
function bearable(ops: readonly WriteOp[]): readonly WriteOp[] {
  const slices = ops.flatMap((op) =>
    'updateOne' in op ? docsOf((op.updateOne.update.$set as Doc | undefined)?.slice) : [],
  )
  if (slices.every(({ session }) => docsOf(session).length <= MOST_APNS)) return ops
  throw validationFailed(
    `a slice of it has more than ${MOST_APNS} APNs, and the HSS of Open5GS ends when it reads that; take some away (svc sim subscription)`,
  )
}

function crowdedWords(count: number): readonly string[] {
  if (count === 0) return []
  return [
    `${countText(count, 'subscriber has', 'subscribers have')} a slice with more than ${MOST_APNS} APNs: HSS and UDR of Open5GS end ` +
      'when they read it. Take APNs away from it, or put them into another slice',
  ]
}

async function compare(
  link: DocumentLink,
  slices: readonly Snssai[],
  subscribers: readonly Subscriber[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, SubscriberDifference>> {
  const found = new Map<Imsi, SubscriberDifference>()
  for (const batch of chunksOf(subscribers, BATCH)) {
    const held = await read(link, batch.map(imsiOf), signal, { ...READ_FIELDS, ...KEY_FIELDS })
    for (const subscriber of batch) {
      const doc = held.get(subscriber.imsi)
      if (doc !== undefined && !isGhost(doc))
        found.set(subscriber.imsi, differencesOf(subscriber, doc, slices))
    }
  }
  return found
}

async function change(
  link: DocumentLink,
  batch: readonly Imsi[],
  opsOf: (doc: Doc) => readonly WriteOp[] | undefined,
  results: Results,
  signal: AbortSignal,
): Promise<void> {
  const held = await read(link, batch, signal)
  const work: SubscriberWrites[] = []
  for (const imsi of batch) {
    const doc = held.get(imsi)
    const ops = doc === undefined || isGhost(doc) ? undefined : opsOf(doc)
    try {
      if (ops === undefined) throw notFound('such subscriber in the HSS to block, unblock or cancel')
      work.push({ imsi, writes: placed(bearable(ops)) })
    } catch (error) {
      results.set(imsi, errorOf(error))
    }
  }
  await writeInWaves(link, work, results, signal)
}

async function remove(
  link: DocumentLink,
  batch: readonly Imsi[],
  cancelMs: number,
  results: Results,
  signal: AbortSignal,
): Promise<void> {
  const held = await read(link, batch, signal)
  const live = [...held].filter(([, doc]) => !isGhost(doc) && !isBlocked(doc))
  if (live.length > 0) {
    const work = live.map(([imsi, doc]) => ({ imsi, writes: placed(blockWrites(doc)) }))
    await writeInWaves(link, work, results, signal)
    await pause(cancelMs, signal)
  }
  const work = batch.map((imsi) => ({ imsi, writes: placed([{ deleteMany: { filter: { imsi } } }]) }))
  await writeInWaves(link, work, results, signal)
}

/** Whom this driver has removed lately: what the core writes of them afterwards is nobody's. */
function recentRemovals(): { add(imsis: readonly Imsi[]): void; take(): readonly Imsi[] } {
  let before: readonly Imsi[] = []
  const now = new Set<Imsi>()
  return {
    add: (imsis) => {
      for (const imsi of imsis) now.add(imsi)
    },
    // Twice each: a core may write right after the first sweep.
    take: () => {
      const all = [...new Set([...before, ...now])]
      before = [...now]
      now.clear()
      return all
    },
  }
}

async function sweep(link: DocumentLink, removed: readonly Imsi[], signal: AbortSignal): Promise<void> {
  const absent = { $exists: false }
  for (const batch of chunksOf(removed, BATCH)) {
    const filter = { imsi: { $in: batch }, security: absent, slice: absent, schema_version: absent }
    await link.write(COLLECTION, [{ deleteMany: { filter } }], signal)
  }
}

function placed(ops: readonly WriteOp[]): readonly PlacedWrite[] {
  return ops.map((op) => ({ collection: COLLECTION, op }))
}

/** The first document of each IMSI: the core takes that one too. */
function byImsi(docs: readonly Doc[]): ReadonlyMap<Imsi, Doc> {
  const found = new Map<Imsi, Doc>()
  for (const doc of docs) {
    const imsi = doc.imsi as Imsi // the query asked for it
    if (!found.has(imsi)) found.set(imsi, doc)
  }
  return found
}

/** The document driver of the database that the settings name. */
export function documentsOf(settings: () => Settings): WriteBackDriver {
  const hss = hssOf(settings())
  const slices = () => sectionOf(settings(), 'core_a').slices ?? STOCK_SLICES
  return open5gsDriver({ name: hss.driver, link: linkOf(hss, OPEN5GS_DATABASE), slices })
}

/** `hss.driver: docdb_shell`. */
export const docdbShell: DriverKind = { make: documentsOf, looks: linkLooks }
