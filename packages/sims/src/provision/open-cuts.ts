import type { ComponentHealth } from '@steeple/contracts'
import type { CoreBreaker } from './core-breaker.ts'

/** SIMs that may not be on air and are not known to be off yet. */
export interface OpenCuts {
  /** One is still open; since when counts from the first time. */
  open(hash: string, nowMs: number): void
  ended(hash: string): void
  /** The component `kicks`. */
  health(core: CoreBreaker, nowMs: number): ComponentHealth
}

/** A cut that takes longer is worth a word: a core that works lets go within a second or two, ms. */
const LATE_MS = 5_000

/** None open. */
export function openCuts(): OpenCuts {
  const since = new Map<string, number>()
  return {
    open: (hash, nowMs) => {
      if (!since.has(hash)) since.set(hash, nowMs)
    },
    ended: (hash) => {
      since.delete(hash)
    },
    health: (core, nowMs) => {
      const problem = core.problem()
      const late = [...since.values()].filter((atMs) => nowMs - atMs >= LATE_MS)
      const words = [
        ...(problem === undefined ? [] : [`the core takes no kicks: ${problem}`]),
        ...(late.length === 0 ? [] : [lateWords(late, nowMs)]),
      ]
      return {
        name: 'kicks',
        kind: 'feature',
        status: words.length === 0 ? 'ok' : 'degraded',
        detail: words.length === 0 ? 'the core lets go who is cut off' : words.join('; '),
      }
    },
  }
}

function lateWords(late: readonly number[], nowMs: number): string {
  const longestS = Math.round((nowMs - Math.min(...late)) / 1_000)
  const who = late.length === 1 ? '1 SIM that is cut off is' : `${late.length} SIMs that are cut off are`
  return `${who} not known to be off, for up to ${longestS} s: each SIM says why`
}
