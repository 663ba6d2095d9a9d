import { type Clock, untilAborted } from '@steeple/contracts'
import type { Registration, RegistrationList } from './oam-ref.ts'

/** How long the AMF may take to list everybody, ms. */
const LIST_MS = 30_000

/** One list for all who want it. */
export interface SharedList {
  /** One that was asked for at most `ageMs` ago, or the one that is being asked for. */
  recent(ageMs: number, signal: AbortSignal): Promise<RegistrationList>
}

/** Shares what `list` gives: who stops waiting does not end it for the others. */
export function sharedList(
  clock: Clock,
  list: (signal: AbortSignal) => Promise<readonly Registration[]>,
): SharedList {
  let last: (RegistrationList & { readonly beganMs: number }) | undefined
  let listing: Promise<RegistrationList> | undefined
  const begin = async (): Promise<RegistrationList> => {
    const [beganMs, askedMs] = [clock.monotonicMs(), clock.nowMs()]
    try {
      last = { registrations: await list(AbortSignal.timeout(LIST_MS)), askedMs, beganMs }
      return last
    } finally {
      listing = undefined
    }
  }
  return {
    recent: async (ageMs, signal) => {
      signal.throwIfAborted()
      if (last !== undefined && ageMs > 0 && clock.monotonicMs() - last.beganMs <= ageMs) return last
      listing ??= begin()
      return await untilAborted(listing, signal)
    },
  }
}
