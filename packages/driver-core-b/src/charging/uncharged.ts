import type { Context, Imsi } from '@steeple/contracts'
import { phonesOfOurs, recordRecall } from '@steeple/southbound'
import type { Kick } from '../steer/kick.ts'

/** Phones with sessions that the CHF does not know. */
export interface Uncharged {
  /** Who they are now. */
  told(phones: readonly Imsi[]): void
  /** What is wrong with the CHF then, in words that follow its name. */
  problem(): string | undefined
  /** Ends those sessions, some at a time: phones begin others, which count. Only while the CHF does its work. */
  mend(signal: AbortSignal): Promise<void>
}

/** What was told so long ago tells nothing any more, ms. */
const LATE_MS = 300_000
/** One that could not be cut off, or came back so, is left for so long, ms. */
const AGAIN_MS = 300_000
/** Phones that are cut off at one look, each with a few calls. */
const TOGETHER = 50

const RECALL = { core: 'core_b', reason: 'the CHF does not know its session, so nothing counts it' } as const

/** Their sessions end where the service keeps the core. */
export function unchargedPhones(context: Context, kick: Kick): Uncharged {
  const { clock, log } = context
  const mayMend = (): boolean => context.settings.southbound.driver !== 'none' && context.settings.core_b.mend
  let phones: readonly Imsi[] = []
  let toldMs = Number.NEGATIVE_INFINITY
  const triedMs = new Map<Imsi, number>()
  const now = (): readonly Imsi[] => (clock.monotonicMs() - toldMs > LATE_MS ? [] : phones)
  const cutOff = async (imsi: Imsi, signal: AbortSignal): Promise<void> => {
    try {
      await kick(imsi, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ err: error }, 'a phone whose sessions are not charged could not be cut off')
    }
  }
  return {
    told: (next) => {
      phones = [...new Set(next)]
      toldMs = clock.monotonicMs()
    },
    problem: () => {
      const { length } = now()
      if (length === 0) return undefined
      const who =
        length === 1
          ? 'of one phone it does not know a session'
          : `of ${length} phones it does not know sessions`
      const what = mayMend() ? 'they are ended, so that others begin' : 'cut them off, so that others begin'
      return `${who}: they began before its last start, or while it was away, and it counts nothing of them; ${what}`
    },
    mend: async (signal) => {
      if (!mayMend()) return
      const [all, nowMs] = [new Set(now()), clock.monotonicMs()]
      for (const [imsi, atMs] of triedMs) if (!all.has(imsi) && nowMs - atMs > AGAIN_MS) triedMs.delete(imsi)
      const due = [...all].filter((imsi) => nowMs - (triedMs.get(imsi) ?? -AGAIN_MS) >= AGAIN_MS)
      const some = [...(await phonesOfOurs(context, due.slice(0, TOGETHER)))]
      for (const imsi of due.slice(0, TOGETHER)) triedMs.set(imsi, nowMs)
      if (some.length === 0) return
      await recordRecall(context, some, RECALL)
      for (const imsi of some) await cutOff(imsi, signal)
    },
  }
}
