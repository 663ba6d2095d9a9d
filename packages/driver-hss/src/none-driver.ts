import type { BatchResult, Imsi } from '@steeple/contracts'
import type { WriteBackDriver } from './driver.ts'

/** `hss.driver: none`: nobody is told anything, and nothing is seen. */
export function noneDriver(): WriteBackDriver {
  const nothing = async (imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult> => {
    signal.throwIfAborted()
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  return {
    name: 'none',
    observe: async (_imsis, signal) => {
      signal.throwIfAborted()
      return new Map()
    },
    upsert: (subscribers, signal) =>
      nothing(
        subscribers.map(({ imsi }) => imsi),
        signal,
      ),
    remove: nothing,
    setBlocked: (imsis, _isBlocked, signal) => nothing(imsis, signal),
    probe: async () => ({ isOk: true, detail: 'hss.driver is none: SIMs are not written anywhere' }),
    sweep: async () => undefined,
    close: async () => undefined,
  }
}
