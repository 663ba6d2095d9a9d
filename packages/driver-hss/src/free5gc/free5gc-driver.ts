import {
  type BatchResult,
  type Imsi,
  notFound,
  type Settings,
  type Subscriber,
  type SubscriberObserved,
} from '@steeple/contracts'
import { chunksOf, errorOf, inBatches, type Results } from '../batch.ts'
import type { WriteBackDriver } from '../driver.ts'
import type { DocumentLink } from '../links/document-link.ts'
import { checkSubscriber } from '../open5gs/bounds.ts'
import type { Snssai } from '../open5gs/document.ts'
import { type SubscriberWrites, writeInWaves } from '../waves.ts'
import type { Spelling } from './documents.ts'
import { COLLECTIONS } from './names.ts'
import { observedOf } from './observed.ts'
import { readHeld, spellingOf } from './read.ts'
import { blockWrites, removeWrites, upsertWrites } from './writes.ts'

/** The database that free5GC reads. */
export const FREE5GC_DATABASE = 'free5gc'
/** Collections with one document for each subscriber. */
const ONE_EACH: readonly string[] = [COLLECTIONS.auth, COLLECTIONS.policyAm, COLLECTIONS.policySm]

/** What the driver needs beside the database. PLMN and slices are asked for at each call. */
export interface Free5gcOptions {
  readonly name: string
  readonly link: DocumentLink
  plmn(): Settings['plmn']
  slices(): readonly Snssai[]
}

/** Subscribers in the documents of free5GC. */
export function free5gcDriver(options: Free5gcOptions): WriteBackDriver {
  const { name, link } = options
  let isPrepared = false
  const plmn = (): string => `${options.plmn().mcc}${options.plmn().mnc}`
  const prepare = async (signal: AbortSignal): Promise<void> => {
    if (isPrepared) return
    for (const collection of Object.values(COLLECTIONS)) {
      await link.ensureIndex(collection, 'ueId', ONE_EACH.includes(collection), signal)
    }
    isPrepared = true
  }
  const upsertBatch = async (
    batch: readonly Subscriber[],
    spelling: Spelling,
    results: Results,
    signal: AbortSignal,
  ): Promise<void> => {
    const place = { plmn: plmn(), slices: options.slices(), spelling }
    const imsis = batch.map(({ imsi }) => imsi)
    const held = await readHeld(link, imsis, place.plmn, signal)
    // A database that can authenticate nobody may have been emptied, and its indexes with it.
    if ([...held.values()].every(({ auth }) => auth === undefined)) isPrepared = false
    await prepare(signal)
    const work: SubscriberWrites[] = []
    for (const subscriber of batch) {
      const { imsi } = subscriber
      try {
        checkSubscriber(subscriber)
        work.push({ imsi, writes: upsertWrites(subscriber, held.get(imsi), place) })
      } catch (error) {
        results.set(imsi, errorOf(error))
      }
    }
    await writeInWaves(link, work, results, signal)
  }
  const blockBatch = async (
    batch: readonly Imsi[],
    toBlocked: boolean,
    results: Results,
    signal: AbortSignal,
  ): Promise<void> => {
    const held = await readHeld(link, batch, plmn(), signal)
    const work: SubscriberWrites[] = []
    for (const imsi of batch) {
      const one = held.get(imsi)
      if (one?.auth === undefined)
        results.set(imsi, notFound('such subscriber in the UDR to block or unblock'))
      else work.push({ imsi, writes: blockWrites({ imsi }, one, toBlocked) })
    }
    await writeInWaves(link, work, results, signal)
  }
  return {
    name,
    observe: async (imsis, signal) => {
      const seen = new Map<Imsi, SubscriberObserved>()
      for (const batch of chunksOf(imsis)) {
        for (const [imsi, held] of await readHeld(link, batch, plmn(), signal)) {
          const observed = observedOf(imsi, held, options.slices())
          if (observed !== undefined) seen.set(imsi, observed)
        }
      }
      return seen
    },
    upsert: async (subscribers, signal): Promise<BatchResult> => {
      signal.throwIfAborted()
      const spelling = await spellingOf(link, signal)
      return await inBatches(
        subscribers,
        ({ imsi }) => imsi,
        signal,
        (batch, results) => upsertBatch(batch, spelling, results, signal),
      )
    },
    remove: (imsis, signal) =>
      inBatches(imsis, itself, signal, async (batch, results) => {
        const work = batch.map((imsi) => ({ imsi, writes: removeWrites({ imsi }) }))
        await writeInWaves(link, work, results, signal)
      }),
    setBlocked: (imsis, toBlocked, signal) =>
      inBatches(imsis, itself, signal, (batch, results) => blockBatch(batch, toBlocked, results, signal)),
    probe: async (signal) => ({
      isOk: true,
      detail: `${link.where}, documents as of ${(await spellingOf(link, signal)) === 'v4' ? '4.0' : '3.4'}`,
    }),
    sweep: async () => undefined,
    close: () => link.close(),
  }
}

function itself(imsi: Imsi): Imsi {
  return imsi
}
