import { type Context, coreDriverRef, createPause, type ImsiHash, type ObservedUe } from '@steeple/contracts'
import { imsiHash, safeText } from '@steeple/telecom'

/** Who is attached, as the core was last seen to say. */
export interface Attached {
  readonly hashes: ReadonlySet<ImsiHash>
  /** When the core said so: ms since the epoch. */
  readonly atMs: number
}

/** The one look at who is attached, which all share. */
export interface AttachedSet {
  /** As last seen; undefined while the core does not tell, which is not nobody. */
  now(): Attached | undefined
  /** The same, asked anew when it is older than a moment. Does not wait long, and not at all for a core in trouble. */
  fresh(): Promise<Attached | undefined>
  /** Asks the core. What was seen before stays valid for a while when it does not tell. */
  look(signal: AbortSignal): Promise<Attached | undefined>
  /** A phone was seen to be off since the last look. */
  left(hash: string): void
}

interface LastAttached extends Attached {
  readonly hashes: Set<ImsiHash>
  readonly monotonicMs: number
}

/** Bound on one look, ms. */
const LOOK_MS = 10_000
/** What is so old is asked for anew, as the node's status does, ms. */
const FRESH_MS = 1_000
/** Who asks waits so long for the core, ms. */
const WAIT_MS = 1_000
/** A core that did not tell for so long leaves nothing known, ms. As the count in the status. */
const STALE_MS = 15_000

/** Nobody was looked for yet. */
export function attachedSet(context: Pick<Context, 'clock' | 'log' | 'maybe' | 'retiring'>): AttachedSet {
  const { clock } = context
  let last: LastAttached | undefined
  let looking: Promise<Attached | undefined> | undefined
  /** Phones that went since the last look began: its answer may be of before. */
  let gone = new Set<string>()
  let isFailing = false

  const now = (): Attached | undefined =>
    last !== undefined && clock.monotonicMs() - last.monotonicMs <= STALE_MS ? last : undefined

  const ask = async (signal: AbortSignal): Promise<Attached | undefined> => {
    gone = new Set()
    const core = context.maybe(coreDriverRef)
    if (core === undefined) {
      last = undefined
      return undefined
    }
    try {
      const ues = await core.ues(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]))
      const hashes = await hashesOf(ues)
      for (const hash of hashes) if (gone.has(hash)) hashes.delete(hash)
      last = { hashes, atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
      isFailing = false
    } catch (error) {
      if (!isFailing && !signal.aborted)
        context.log.warn({ reason: safeText(error) }, 'core did not say who is attached')
      isFailing = true
    }
    return now()
  }
  const look = (signal: AbortSignal): Promise<Attached | undefined> => {
    looking ??= ask(signal).finally(() => {
      looking = undefined
    })
    return looking
  }
  return {
    now,
    look,
    left: (hash) => {
      // A hash of a subscriber is one.
      last?.hashes.delete(hash as ImsiHash)
      gone.add(hash)
    },
    fresh: async () => {
      if (context.maybe(coreDriverRef) === undefined) return undefined
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() - last.monotonicMs
      if (ageMs <= FRESH_MS || isFailing) return now()
      const late = new AbortController()
      const limit = AbortSignal.timeout(WAIT_MS)
      const waited = new Promise<undefined>((done) => {
        limit.addEventListener('abort', () => done(undefined), { once: true, signal: late.signal })
      })
      try {
        await Promise.race([look(context.retiring), waited])
        return now()
      } finally {
        late.abort()
      }
    },
  }
}

async function hashesOf(ues: readonly ObservedUe[]): Promise<Set<ImsiHash>> {
  const hashes = new Set<ImsiHash>()
  const pause = createPause()
  for (const { imsi, isRegistered } of ues) {
    if (isRegistered) hashes.add(imsiHash(imsi))
    await pause()
  }
  return hashes
}
