import {
  type BatchResult,
  type Imsi,
  isServiceError,
  type Subscriber,
  southboundUnavailable,
} from '@steeple/contracts'

/** Subscribers in one request to a database. */
export const BATCH = 500

/** Results of a call as they come in. */
export type Results = Map<Imsi, Error | undefined>

/** `items` in lists of at most `size`. */
export function chunksOf<T>(items: readonly T[], size: number = BATCH): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_none, index) => items.slice(index * size, (index + 1) * size))
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
  for (const batch of chunksOf(items)) {
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
