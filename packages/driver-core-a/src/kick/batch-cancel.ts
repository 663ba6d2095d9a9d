import {
  type BatchResult,
  type HssDriver,
  type Imsi,
  isServiceError,
  notFound,
  untilAborted,
} from '@steeple/contracts'
import { pause } from '@steeple/southbound'

/** Has the HSS cancel the location of a phone. False: nobody can, or the HSS does not hold it. Throws what the HSS driver throws. */
export type CancelLocation = (imsi: Imsi, signal: AbortSignal) => Promise<boolean>

/** Requests within this time are one call, ms. */
const TOGETHER_MS = 20

/**
 * Collects requests of one moment into one call of the HSS driver: a hundred kicks at once are one write. What comes
 * while a call is out goes into the next, however long that takes.
 *
 * The call has the plugin's own signal; who stops waiting does not end it for the others.
 */
export function batchCancel(hss: () => HssDriver | undefined, retiring: AbortSignal): CancelLocation {
  let waiting: { readonly imsis: Set<Imsi>; readonly result: Promise<BatchResult> } | undefined
  let out: Promise<unknown> = Promise.resolve()
  const collect = (cancel: NonNullable<HssDriver['cancelLocation']>): typeof waiting & object => {
    const imsis = new Set<Imsi>()
    const result = Promise.all([pause(TOGETHER_MS, retiring), out]).then(() => {
      waiting = undefined
      return cancel([...imsis], retiring)
    })
    out = result.catch(() => undefined)
    return { imsis, result }
  }
  return async (imsi, signal) => {
    signal.throwIfAborted()
    const driver = hss()
    const cancel = driver?.cancelLocation
    if (cancel === undefined) return false
    waiting ??= collect(cancel)
    waiting.imsis.add(imsi)
    const problem = (await untilAborted(waiting.result, signal)).get(imsi)
    if (isServiceError(problem) && problem.code === notFound.code) return false
    if (problem !== undefined) throw problem
    return true
  }
}
