import {
  type BatchResult,
  chunksOf,
  type Imsi,
  isServiceError,
  type Subscriber,
  southboundUnavailable,
} from '@steeple/contracts'
import { checkSubscriber } from './check-subscriber.ts'
import { type DocumentLink, DUPLICATE_KEY, type WriteFailure, type WriteOp } from './links/document-link.ts'

/** Subscribers in one request to a database. */
export const BATCH = 500

/** Results of a call as they come in. */
export type Results = Map<Imsi, Error | undefined>

/** What `of` makes of each subscriber that `read` finds, some at a time; without those of which it makes nothing. */
export async function gathered<Found, Made>(
  imsis: readonly Imsi[],
  read: (batch: readonly Imsi[]) => Promise<ReadonlyMap<Imsi, Found>>,
  of: (found: Found, imsi: Imsi) => Made | undefined,
): Promise<ReadonlyMap<Imsi, Made>> {
  const all = new Map<Imsi, Made>()
  for (const batch of chunksOf(imsis, BATCH))
    for (const [imsi, found] of await read(batch)) {
      const made = of(found, imsi)
      if (made !== undefined) all.set(imsi, made)
    }
  return all
}

/**
 * Works through `items` in batches. A batch that fails as a whole fails its subscribers and all that follow, since the
 * database is gone; when nothing at all got through, the error is thrown. An aborted signal rejects.
 */
export async function inBatches<T>(
  items: readonly T[],
  imsiOf: (item: T) => Imsi,
  signal: AbortSignal,
  work: (batch: readonly T[], results: Results) => Promise<void>,
): Promise<BatchResult> {
  const results: Results = new Map()
  let broken: Error | undefined
  for (const batch of chunksOf(items, BATCH)) {
    signal.throwIfAborted()
    if (broken === undefined) {
      try {
        await work(batch, results)
        continue
      } catch (error) {
        signal.throwIfAborted()
        broken = errorOf(error)
      }
    }
    for (const item of batch) results.set(imsiOf(item), results.get(imsiOf(item)) ?? broken)
  }
  if (broken !== undefined && [...results.values()].every((result) => result === broken)) throw broken
  return results
}

/** An error that may leave the driver. One of unknown origin loses its words: they could hold an IMSI. */
export function errorOf(error: unknown): Error {
  if (error instanceof Error && isServiceError(error)) return error
  return southboundUnavailable(
    `the subscriber database failed: ${error instanceof Error ? error.name : 'unknown'}`,
  )
}

/** Who a pushed subscriber is, for `inBatches`. */
export function imsiOf({ imsi }: Subscriber): Imsi {
  return imsi
}

/** The same of one that is named alone. */
export function itself(imsi: Imsi): Imsi {
  return imsi
}

/** A write and the collection that it goes to. */
export interface PlacedWrite {
  readonly collection: string
  readonly op: WriteOp
}

/** The writes of one subscriber, to be done one after the other. */
export interface SubscriberWrites {
  readonly imsi: Imsi
  readonly writes: readonly PlacedWrite[]
}

/** The writes of each subscriber of a batch. One that cannot be written has its error for a result. */
export function checkedWrites(
  batch: readonly Subscriber[],
  results: Results,
  writesOf: (subscriber: Subscriber) => readonly PlacedWrite[],
): readonly SubscriberWrites[] {
  const work: SubscriberWrites[] = []
  for (const subscriber of batch) {
    const { imsi } = subscriber
    try {
      checkSubscriber(subscriber)
      work.push({ imsi, writes: writesOf(subscriber) })
    } catch (error) {
      results.set(imsi, errorOf(error))
    }
  }
  return work
}

/**
 * Writes for many subscribers: the first write of each together, then the second of each, and so on. A subscriber
 * whose write fails gets no further ones. One result for each subscriber.
 */
export async function writeInWaves(
  link: DocumentLink,
  work: readonly SubscriberWrites[],
  results: Results,
  signal: AbortSignal,
): Promise<void> {
  const failed = new Map<Imsi, Error>()
  const waves = Math.max(0, ...work.map(({ writes }) => writes.length))
  for (let wave = 0; wave < waves; wave += 1) {
    for (const [collection, turn] of turnsOf(work, wave, failed)) {
      const failures = await link.write(
        collection,
        turn.map(({ op }) => op),
        signal,
      )
      for (const [index, { imsi }] of turn.entries()) {
        const failure = failures[index]
        if (failure !== undefined) failed.set(imsi, writeError(failure))
      }
    }
  }
  for (const { imsi } of work) results.set(imsi, failed.get(imsi))
}

/** The writes of one wave, by collection. */
function turnsOf(
  work: readonly SubscriberWrites[],
  wave: number,
  failed: ReadonlyMap<Imsi, Error>,
): ReadonlyMap<string, readonly { readonly imsi: Imsi; readonly op: WriteOp }[]> {
  const turns = new Map<string, { readonly imsi: Imsi; readonly op: WriteOp }[]>()
  for (const { imsi, writes } of work) {
    const write = writes[wave]
    if (write === undefined || failed.has(imsi)) continue
    const turn = turns.get(write.collection) ?? []
    turn.push({ imsi, op: write.op })
    turns.set(write.collection, turn)
  }
  return turns
}

/** What a refused write means, without the server's words: they can hold an IMSI. */
function writeError({ code }: WriteFailure): Error {
  if (code === DUPLICATE_KEY) {
    return southboundUnavailable(
      'another writer made the same subscriber at the same time; it is tried again',
    )
  }
  return southboundUnavailable(`the subscriber database refused a write with code ${code}`)
}
