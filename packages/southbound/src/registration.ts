import { type Clock, type ComponentHealth, countText, type Imsi } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'

/** What a core has written of a phone: that it got on, or why not; a refusal without a reason has no detail. */
export interface SaidOfPhone {
  /** The digits of its identity, as the core writes them. */
  readonly who: string
  readonly meaning: 'success' | { readonly detail: string | undefined }
}

/** Whether the core lets phones on. */
export interface RegistrationWatch {
  readonly everyMs: number
  look(signal: AbortSignal): Promise<void>
  health(): ComponentHealth
}

const EVERY_MS = 10_000
/** Refusals that count are as old at most. */
const RECENT_MS = 5 * 60_000
/** One phone with a wrong card is no outage, and neither are two. */
const LEAST_PHONES = 3

/** Refusals of phones by the hash of their identity; `read` gives what the core has written since it was asked last. */
export function registrationWatch(
  clock: Clock,
  read: (signal: AbortSignal) => Promise<readonly SaidOfPhone[]>,
): RegistrationWatch {
  const refused = new Map<string, { readonly atMs: number; readonly detail: string | undefined }>()
  let letOnMs = Number.NEGATIVE_INFINITY
  return {
    everyMs: EVERY_MS,
    look: async (signal) => {
      const said = await read(signal)
      const nowMs = clock.monotonicMs()
      for (const { who: digits, meaning } of said) {
        const who = imsiHash(digits as Imsi)
        if (meaning === 'success') {
          refused.delete(who)
          letOnMs = nowMs
        } else refused.set(who, { atMs: nowMs, detail: meaning.detail ?? refused.get(who)?.detail })
      }
      for (const [who, { atMs }] of refused) if (nowMs - atMs > RECENT_MS) refused.delete(who)
    },
    health: () => {
      const common = {
        name: 'registration',
        kind: 'core',
        required: false,
        incident: 'no_registration',
      } as const
      const nowMs = clock.monotonicMs()
      const recent = [...refused.values()].filter(({ atMs }) => nowMs - atMs <= RECENT_MS)
      if (recent.length < LEAST_PHONES || nowMs - letOnMs < RECENT_MS)
        return {
          ...common,
          status: 'ok',
          detail: `${countText(recent.length, 'phone')} refused in the last 5 minutes`,
        }
      const reasons = Map.groupBy(recent, ({ detail = 'the core gave no reason' }) => detail)
      const [why] = [...reasons].toSorted(([, one], [, other]) => other.length - one.length)[0] ?? ['']
      const detail = `${countText(recent.length, 'phone was', 'phones were')} refused in the last 5 minutes, and none got on; most: ${why}`
      return { ...common, status: 'degraded', detail }
    },
  }
}
