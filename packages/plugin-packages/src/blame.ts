import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Clock } from '@steeple/contracts'
import type { KeptStates } from './kept-states.ts'
import type { FoundPlugin } from './manifest.ts'

/** Which installed plugin an error came from that ended the process, and what follows for the next start. */
export interface Blame {
  /**
   * Counts the end for the plugin whose code is in the stack of `error`. An error that shows nobody's code (a rejected
   * call of Node's own, a thrown text) is counted for every plugin that may have left it. The second time in a row a
   * version counts as failed: the next start goes without it. Gives the folders. Synchronous, never throws.
   */
  onFatal(error: unknown): readonly string[]
  /** A proper end: what came before is no row. */
  onProperEnd(): void
}

/** What blaming takes. */
export interface BlameParts {
  readonly kept: KeptStates
  readonly clock: Clock
  /** The installed plugins whose code runs in this process. */
  readonly installed: () => readonly FoundPlugin[]
}

/** A service that ran this long is no crash loop. */
const ROW_MS = 3_600_000
const MOST_IN_A_ROW = 2

/** Counts in the kept states, by the names of the folders. */
export function createBlame({ kept, clock, installed }: BlameParts): Blame {
  const startedMs = clock.monotonicMs()
  const count = (found: FoundPlugin, isCertain: boolean): void => {
    const { id } = found.manifest
    const folder = basename(found.dir)
    const { crashes } = kept.of(id)
    const isRow = clock.monotonicMs() - startedMs < ROW_MS
    const times = (isRow ? (crashes?.[folder] ?? 0) : 0) + 1
    kept.change(id, { crashes: { ...crashes, [folder]: times } })
    if (times < MOST_IN_A_ROW) return
    const whose = isCertain ? 'an error that it did not catch' : 'an error that may be its own'
    kept.noteLoad(found, `${whose} has ended the service ${times} times in a row`)
  }
  return {
    onFatal: (error) => {
      const stack = error instanceof Error ? (error.stack ?? '') : ''
      const guilty = installed().filter(({ dir }) => stack.includes(`${pathToFileURL(dir).href}/`))
      const isAnonymous = !stack.includes('file://')
      const suspects = guilty.length === 0 && isAnonymous ? installed() : guilty.slice(0, 1)
      try {
        for (const found of suspects) count(found, guilty.length > 0)
      } catch {
        // A full disk: the row is not counted, and the next error says the same.
      }
      return suspects.map(({ dir }) => dir)
    },
    onProperEnd: () => {
      try {
        for (const [id, { crashes }] of kept.all())
          if (crashes !== undefined) kept.change(id, { crashes: {} })
      } catch {
        // As above.
      }
    },
  }
}
