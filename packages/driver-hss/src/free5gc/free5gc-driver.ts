import {
  type Ambr,
  chunksOf,
  type HssSurvey,
  type Imsi,
  notFound,
  type Settings,
  type Subscriber,
  type SubscriberDifference,
  type SubscriberHeld,
  type SubscriberObserved,
  sectionOf,
} from '@steeple/contracts'
import {
  BATCH,
  checkedWrites,
  gathered,
  imsiOf,
  inBatches,
  itself,
  type Results,
  type SubscriberWrites,
  writeInWaves,
} from '../batch.ts'
import { type DriverKind, hssOf, STOCK_SLICES } from '../config.ts'
import type { WriteBackDriver } from '../driver.ts'
import type { Doc, DocumentLink } from '../links/document-link.ts'
import { lineageOf } from '../links/lineage.ts'
import { linkLooks, linkOf } from '../links/links.ts'
import type { Snssai } from '../open5gs/document.ts'
import { blockWrites, removeWrites, type ServingNetwork } from './documents.ts'
import { fitting } from './fitting.ts'
import { foundOf } from './found.ts'
import {
  COLLECTIONS,
  docOf,
  parseRate,
  policyDnnKey,
  readUeId,
  type Spelling,
  sessionRate,
  snssaiKey,
  spellingOf,
} from './names.ts'
import {
  docOfSlice,
  docsIn,
  type Held,
  hasSpelling,
  isBlockedNow,
  isOfSlice,
  readHeld,
  readWhole,
} from './read.ts'

/** The database that free5GC reads. */
const FREE5GC_DATABASE = 'free5gc'
/** Collections with one document for each subscriber. */
const ONE_EACH: readonly string[] = [COLLECTIONS.auth, COLLECTIONS.policyAm, COLLECTIONS.policySm]

/** First release with each spelling. */
const RELEASE_WORDS: Readonly<Record<Spelling, string>> = { v3: '3.4', v4: '4.0' }

/** What the driver needs beside the database. All but the name and the link are asked for at each call. */
interface Free5gcOptions {
  readonly name: string
  readonly link: DocumentLink
  plmn(): Settings['plmn']
  slices(): readonly Snssai[]
  /** Which release of free5GC runs, such as `4.2.3`: it decides how documents are spelled. */
  release(): string
}

/** Subscribers that are listed. */
const MOST_LISTED = 100_000
/** Session documents that a survey reads. */
const MOST_READ = 1_000

/** Subscribers in the documents of free5GC. */
export function free5gcDriver(options: Free5gcOptions): WriteBackDriver {
  const { name, link } = options
  const lineage = lineageOf(link, COLLECTIONS.auth)
  let isPrepared = false
  const networkNow = (): ServingNetwork => {
    const { mcc, mnc } = options.plmn()
    return { plmn: `${mcc}${mnc}`, slices: options.slices(), spelling: spellingOf(options.release()) }
  }
  const prepare = async (signal: AbortSignal): Promise<void> => {
    if (isPrepared) return
    const made: string[] = []
    for (const collection of Object.values(COLLECTIONS))
      made.push(await link.ensureIndex(collection, 'ueId', ONE_EACH.includes(collection), signal))
    // Doubles are removed as their subscribers are pushed.
    isPrepared = !made.includes('conflict')
  }
  const upsertBatch = async (
    batch: readonly Subscriber[],
    results: Results,
    signal: AbortSignal,
  ): Promise<void> => {
    const network = networkNow()
    const imsis = batch.map(({ imsi }) => imsi)
    const held = await readHeld(link, imsis, 'with keys', signal)
    // A database that can authenticate nobody may have been emptied, and its indexes with it.
    if ([...held.values()].every((one) => docsIn(one, COLLECTIONS.auth).live.length === 0)) isPrepared = false
    await prepare(signal)
    const work = checkedWrites(batch, results, (one) => fitting(one, held.get(one.imsi), network).writes)
    await writeInWaves(link, work, results, signal)
  }
  return {
    name,
    // The UDM adds one: IND walks.
    sqnStep: 1,
    pace: link.pace,
    observe: (imsis, signal) =>
      gathered(
        imsis,
        (batch) => readHeld(link, batch, 'without keys', signal),
        (held, imsi) => observedOf(imsi, held, networkNow()),
      ),
    existing: (imsis, signal) =>
      gathered(
        imsis,
        (batch) => readHeld(link, batch, 'without keys', signal),
        (held) => heldOf(held, options.slices()),
      ),
    survey: (signal) => surveyOf(link, signal),
    everybody: async (signal) => {
      const docs = await link.find(COLLECTIONS.auth, {}, { ueId: 1 }, signal, MOST_LISTED)
      const whose = docs.map(({ ueId }) => readUeId(ueId))
      return [...new Set(whose.flatMap((one) => (one === undefined || one.isAside ? [] : [one.imsi])))]
    },
    whole: (imsis, what, signal) =>
      gathered(
        imsis,
        (batch) => readWhole(link, batch, what, signal),
        (held) => foundOf(held, what, networkNow()),
      ),
    upsert: (subscribers, signal) =>
      inBatches(subscribers, imsiOf, signal, (batch, results) => upsertBatch(batch, results, signal)),
    compare: async (subscribers, signal) => {
      const found = new Map<Imsi, SubscriberDifference>()
      const network = networkNow()
      for (const batch of chunksOf(subscribers, BATCH))
        await compareBatch(link, network, batch, found, signal)
      return found
    },
    remove: (imsis, signal) =>
      inBatches(imsis, itself, signal, async (batch, results) => {
        const work = batch.map((imsi) => ({ imsi, writes: removeWrites({ imsi }) }))
        await writeInWaves(link, work, results, signal)
      }),
    setBlocked: (imsis, toBlocked, signal) =>
      inBatches(imsis, itself, signal, (batch, results) =>
        blockBatch(link, batch, toBlocked, results, signal),
      ),
    probe: async (signal) => {
      const changes = await lineage.look(signal)
      return { ...(await spelled(link, networkNow().spelling, signal)), changes }
    },
    sweep: async () => undefined,
    release: (signal) => lineage.release(signal),
    close: () => link.close(),
  }
}

/** Who can be authenticated, and the addresses in the session documents. */
async function surveyOf(link: DocumentLink, signal: AbortSignal): Promise<HssSurvey> {
  const subscribers = await link.count(COLLECTIONS.auth, {}, signal)
  // The DNN is a key of its own, so that none can be asked for by it: no more are read than are told of.
  const docs = await link.find(COLLECTIONS.sm, {}, { dnnConfigurations: 1 }, signal, MOST_READ)
  const addresses = docs
    .flatMap(({ dnnConfigurations }) => Object.entries(docOf(dnnConfigurations)))
    .flatMap(([apn, dnn]) => {
      const { staticIpAddress: list } = docOf(dnn)
      const given = Array.isArray(list) ? list.map((one) => docOf(one).ipv4Addr) : []
      return given.filter((one) => typeof one === 'string').map((address) => ({ apn, address }))
    })
  return { subscribers, addresses: addresses.slice(0, MOST_READ) }
}

async function compareBatch(
  link: DocumentLink,
  network: ServingNetwork,
  batch: readonly Subscriber[],
  found: Map<Imsi, SubscriberDifference>,
  signal: AbortSignal,
): Promise<void> {
  const imsis = batch.map(({ imsi }) => imsi)
  const held = await readHeld(link, imsis, 'with keys', signal)
  for (const subscriber of batch) {
    const one = held.get(subscriber.imsi)
    if (docsIn(one, COLLECTIONS.auth).live.length === 0) continue
    const { differences, isSqnLost } = fitting(subscriber, one, network)
    found.set(subscriber.imsi, { fields: differences, isSqnLost })
  }
}

async function blockBatch(
  link: DocumentLink,
  batch: readonly Imsi[],
  toBlocked: boolean,
  results: Results,
  signal: AbortSignal,
): Promise<void> {
  const held = await readHeld(link, batch, 'without keys', signal)
  const work: SubscriberWrites[] = []
  for (const imsi of batch) {
    const one = held.get(imsi)
    if (one === undefined || docsIn(one, COLLECTIONS.auth).live.length === 0)
      results.set(imsi, notFound('such subscriber in the UDR to block or unblock'))
    else work.push({ imsi, writes: blockWrites({ imsi }, one, toBlocked) })
  }
  await writeInWaves(link, work, results, signal)
}

/** Whether all documents are spelled as the release that runs reads them. */
async function spelled(
  link: DocumentLink,
  spelling: Spelling,
  signal: AbortSignal,
): Promise<{ readonly isOk: boolean; readonly detail: string }> {
  const other = spelling === 'v4' ? 'v3' : 'v4'
  const words = `documents as of ${RELEASE_WORDS[spelling]}`
  if (!(await hasSpelling(link, other, signal))) return { isOk: true, detail: `${link.where}, ${words}` }
  const rest = `some are still spelled as of ${RELEASE_WORDS[other]}: those of SIMs move over, others are for its web console to save again`
  return { isOk: false, detail: `${link.where}, ${words}; ${rest}` }
}

/**
 * The subscriber as the core reads its documents; undefined when it knows no key of it.
 *
 * Documents that contradict each other show as no APNs, an AMBR that differs in one place as that one, so that a
 * comparison with what should be finds it.
 */
function observedOf(
  imsi: Imsi,
  held: Held,
  network: { readonly plmn: string; readonly slices: readonly Snssai[] },
): SubscriberObserved | undefined {
  const inPlmn = (collection: string): Doc | undefined =>
    docsIn(held, collection).live.find(({ servingPlmnId }) => servingPlmnId === network.plmn)
  const am = inPlmn(COLLECTIONS.am)
  if (docsIn(held, COLLECTIONS.auth).live.length === 0) return undefined
  const isBlocked = isBlockedNow(held)
  const side = isBlocked ? 'aside' : 'live'
  const sm = docsIn(held, COLLECTIONS.sm)[side].filter(({ servingPlmnId }) => servingPlmnId === network.plmn)
  const [policy] = docsIn(held, COLLECTIONS.policySm)[side]
  const docs: SliceDocs = { sm, policy, selection: inPlmn(COLLECTIONS.selection) }
  const ue = rateOf(am?.subscribedUeAmbr)
  const isOdd = sm
    .flatMap(({ dnnConfigurations }) => Object.values(docOf(dnnConfigurations)))
    .some((dnn) => !fits(docOf(dnn).sessionAmbr, ue))
  const gpsi = msisdnOf(am)
  return {
    imsi,
    apns: agreed(network.slices.map((slice) => apnsOf(docs, slice))),
    // No rate is wanted that two places tell differently, and each of them may be the one that was edited.
    ambrBps: isOdd ? { up: 0, down: 0 } : ue,
    isBlocked,
    ...(gpsi === undefined ? {} : { msisdn: gpsi }),
  }
}

interface SliceDocs {
  readonly sm: readonly Doc[]
  readonly policy: Doc | undefined
  readonly selection: Doc | undefined
}

/** The APNs of a slice in the order of the choice, when sessions and policy name the same ones. */
function apnsOf({ sm, policy, selection }: SliceDocs, slice: Snssai): readonly string[] {
  const key = snssaiKey(slice)
  const { dnnInfos } = docOf(docOf(selection?.subscribedSnssaiInfos)[key])
  const chosen = Array.isArray(dnnInfos) ? dnnInfos.map((info) => String(docOf(info).dnn)) : []
  const configured = Object.keys(docOf(docOfSlice(sm, slice)?.dnnConfigurations))
  const allowed = Object.keys(docOf(docOf(docOf(policy?.smPolicySnssaiData)[key]).smPolicyDnnData))
  const isAgreed = isSameSet(chosen, configured) && isSameSet(chosen.map(policyDnnKey), allowed)
  return isAgreed ? chosen : []
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join()
}

function agreed(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = lists
  return lists.every((list) => isSameSet(list, first)) ? first : []
}

function rateOf(ambr: unknown): { readonly up: number; readonly down: number } {
  const { uplink, downlink } = docOf(ambr)
  return { up: parseRate(uplink), down: parseRate(downlink) }
}

function fits(sessionAmbr: unknown, ue: { readonly up: number; readonly down: number }): boolean {
  if (ue.up <= 0 || ue.down <= 0) return false
  const { uplink, downlink } = docOf(sessionAmbr)
  return uplink === sessionRate(ue.up) && downlink === sessionRate(ue.down)
}

function msisdnOf(am: Doc | undefined): string | undefined {
  return /^msisdn-([0-9]+)$/.exec(Array.isArray(am?.gpsis) ? String(am.gpsis[0]) : '')?.[1]
}

/** What documents hold, whoever wrote them and for whichever network: the DNNs of our slices, of all where there is none of ours. */
function heldOf(held: Held, slices: readonly Snssai[]): SubscriberHeld | undefined {
  if (docsIn(held, COLLECTIONS.auth).live.length === 0) return undefined
  const isBlocked = isBlockedNow(held)
  const [am] = docsIn(held, COLLECTIONS.am).live
  const all = docsIn(held, COLLECTIONS.sm)[isBlocked ? 'aside' : 'live']
  const ours = all.filter((doc) => slices.some((slice) => isOfSlice(doc, slice)))
  const dnns = (ours.length === 0 ? all : ours).flatMap(({ dnnConfigurations }) =>
    Object.entries(docOf(dnnConfigurations)),
  )
  const ue = rateOf(am?.subscribedUeAmbr)
  const [selection] = docsIn(held, COLLECTIONS.selection).live
  const [first] = Object.values(docOf(selection?.subscribedSnssaiInfos)).flatMap((info) => {
    const { dnnInfos } = docOf(info)
    return Array.isArray(dnnInfos) ? dnnInfos.map((one) => String(docOf(one).dnn)) : []
  })
  const names = [...new Set(dnns.map(([name]) => name))]
  return {
    // What a phone gets that names none stays the first.
    apns: names.toSorted((a, b) => Number(b === first) - Number(a === first)),
    ambrBps: ue.up > 0 && ue.down > 0 ? ue : undefined,
    sessionAmbrBps: new Map(
      dnns
        .filter(([, dnn]) => !fits(docOf(dnn).sessionAmbr, ue))
        .map(([name, dnn]): [string, Ambr] => [name, rateOf(docOf(dnn).sessionAmbr)]),
    ),
    msisdn: msisdnOf(am),
    isBlocked,
  }
}

/** Of a core that nothing is known of. */
const STOCK_RELEASE = '4.2.3'

/** `hss.driver: core_b`. */
export const coreB: DriverKind = {
  make: (settings) => {
    const hss = hssOf(settings())
    const core = () => sectionOf(settings(), 'core_b')
    return free5gcDriver({
      name: hss.driver,
      link: linkOf(hss, FREE5GC_DATABASE),
      plmn: () => settings().plmn,
      slices: () => core().slices ?? STOCK_SLICES,
      release: () => core().release ?? STOCK_RELEASE,
    })
  },
  looks: linkLooks,
}
