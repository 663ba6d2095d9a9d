import { setTimeout } from 'node:timers/promises'
import {
  msFromDuration,
  type Settings,
  sectionOf,
  southboundUnavailable,
  untilAborted,
} from '@steeple/contracts'

const AGE_PART = 3
const AGE_MAX_MS = 5_000

/** How old a list of a core may be that a collector takes: a part of its interval, and at most so many ms. */
export function listAgeMs(settings: Settings): number {
  const { interval = '' } = sectionOf(settings, 'collector')
  return Math.min(AGE_MAX_MS, (msFromDuration(interval) ?? AGE_MAX_MS) / AGE_PART)
}

/** Settles as `work` does, or rejects at once when the signal fires or `limitMs` are over. `work` itself goes on. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal, limitMs: number): Promise<T> {
  const limit = AbortSignal.timeout(limitMs)
  try {
    return await untilAborted(work, AbortSignal.any([signal, limit]))
  } catch (error) {
    throw error === limit.reason ? southboundUnavailable(`no answer within ${limitMs} ms`) : error
  }
}

/** Waits; rejects with the signal's reason when it fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}
