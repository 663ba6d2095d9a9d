import type { Free5gcOam } from '@steeple/free5gc-oam'
import { safeText } from '@steeple/telecom'

/** What the SMF said of a session: its address, that it has none, or that the SMF does not have the session. */
type Answer = { readonly address: string | undefined } | 'gone'

/** What is known of the sessions of a list. */
export interface Asked {
  /** Undefined while the SMF was not asked. */
  of(ref: string): Answer | undefined
  /** Sessions whose turn has not come. */
  readonly waiting: number
  /** Why the SMF cannot be asked; undefined when it can. */
  readonly failure: string | undefined
}

/** Addresses of sessions. The AMF does not know them, and the SMF tells of one session at a time. */
export interface Addresses {
  /** Asks for what is not known of these sessions, and whether some of the others are still there. */
  ask(oam: Free5gcOam, refs: readonly string[], signal: AbortSignal): Promise<Asked>
}

/** Questions at a time. */
const PARALLEL = 8
/** Questions in one go: a fifth of a millisecond of processor time each. */
const MOST = 3_000
/** Sessions that are known and asked for again in one go: an address stays for the life of a session. */
const AGAIN = 200

/** Nothing is known yet. */
export function addresses(): Addresses {
  /** By reference; those that were asked for longest ago first. */
  const known = new Map<string, Answer>()

  const askEach = async (
    oam: Free5gcOam,
    queue: string[],
    signal: AbortSignal,
  ): Promise<{ readonly failure: string | undefined; readonly hasLost: boolean }> => {
    let failure: string | undefined
    let hasLost = false
    const work = async (): Promise<void> => {
      for (let ref = queue.shift(); ref !== undefined && failure === undefined; ref = queue.shift()) {
        try {
          const session = await oam.session(ref, signal)
          const before = known.get(ref)
          hasLost ||= session === undefined && before !== undefined && before !== 'gone'
          known.delete(ref)
          known.set(ref, session ?? 'gone')
        } catch (error) {
          signal.throwIfAborted()
          failure ??= safeText(error)
        }
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    return { failure, hasLost }
  }

  const isSettled = (ref: string): boolean => {
    const answer = known.get(ref)
    return answer !== undefined && answer !== 'gone' && answer.address !== undefined
  }

  return {
    ask: async (oam, refs, signal) => {
      const live = new Set(refs)
      for (const ref of known.keys()) if (!live.has(ref)) known.delete(ref)
      const open = [...live].filter((ref) => !isSettled(ref))
      const queue = open.slice(0, MOST)
      const settled = [...known.keys()].filter(isSettled)
      queue.push(...settled.splice(0, Math.min(AGAIN, MOST - queue.length)))
      let { failure, hasLost } = await askEach(oam, queue, signal)
      // One that has lost a session it had may have restarted, and lost them all.
      if (hasLost && failure === undefined)
        failure = (await askEach(oam, settled.slice(0, MOST), signal)).failure
      return {
        of: (ref) => known.get(ref),
        waiting: [...live].filter((ref) => !known.has(ref)).length,
        failure,
      }
    },
  }
}
