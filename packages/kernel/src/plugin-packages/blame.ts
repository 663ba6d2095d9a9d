import { readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Clock, Log } from '@steeple/contracts'
import { ENDED, type KeptStates } from './kept-states.ts'
import type { FoundPlugin } from './manifest.ts'

/** Which installed plugin an error came from that ended the process, and what follows for the next start. */
export interface Blame {
  /**
   * Counts the end for the plugin whose code is in the stack of `error`. An error that shows nobody's code (a rejected
   * call of Node's own, a thrown text) is counted for every plugin that may have left it. The second time in a row a
   * version counts as failed: the next start goes without it. Gives the folders. Synchronous, never throws.
   */
  onFatal(error: unknown): readonly string[]
  /**
   * At a start: the process before was ended since its event loop did not turn, while its main thread was in `frames`. Counts as `onFatal` does for
   * the plugin whose code that was. Gives its folder.
   */
  onHang(hang: Hang): readonly string[]
  /** A proper end: what came before is no row. */
  onProperEnd(): void
}

/** What a process noted of itself that was ended since its event loop did not turn. */
interface Hang {
  readonly uptimeMs: number
  /** Functions, the innermost first, each with the URL of its file. */
  readonly frames: readonly string[]
}

interface BlameParts {
  readonly kept: KeptStates
  readonly clock: Clock
  /** All that are installed, and those of them whose code runs in this process. */
  readonly installed: () => readonly FoundPlugin[]
  readonly running: () => readonly FoundPlugin[]
}

/** A service that ran this long is no crash loop. */
const ROW_MS = 3_600_000
const MOST_IN_A_ROW = 2

/** Counts in the kept states, by the names of the folders. */
export function createBlame({ kept, clock, installed, running }: BlameParts): Blame {
  const startedMs = clock.monotonicMs()
  const count = (found: FoundPlugin, what: string, uptimeMs: number): void => {
    const { id } = found.manifest
    const folder = basename(found.dir)
    const { crashes } = kept.of(id)
    const times = (uptimeMs < ROW_MS ? (crashes?.[folder] ?? 0) : 0) + 1
    kept.change(id, { crashes: { ...crashes, [folder]: times } })
    if (times < MOST_IN_A_ROW && kept.failureOf(found) !== ENDED) return
    kept.noteLoad(found, `${what} has ended the service ${times} times in a row`)
  }
  const countAll = (suspects: readonly FoundPlugin[], what: string, uptimeMs: number): readonly string[] => {
    try {
      for (const found of suspects) count(found, what, uptimeMs)
    } catch {
      // A full disk: the row is not counted, and the next error says the same.
    }
    return suspects.map(({ dir }) => dir)
  }
  /** Whose code comes first in a stack, or in what else names files. */
  const guiltyBy = (stack: string): readonly FoundPlugin[] => {
    const places = installed().map((found) => ({
      found,
      at: stack.indexOf(`${pathToFileURL(found.dir).href}/`),
    }))
    const [first] = places.filter(({ at }) => at >= 0).toSorted((one, other) => one.at - other.at)
    return first === undefined ? [] : [first.found]
  }
  return {
    onFatal: (error) => {
      const stack = error instanceof Error ? (error.stack ?? '') : ''
      const guilty = guiltyBy(stack)
      const isAnonymous = !stack.includes('file://')
      const suspects = guilty.length === 0 && isAnonymous ? running() : guilty
      const what = guilty.length > 0 ? 'an error that it did not catch' : 'an error that may be its own'
      return countAll(suspects, what, clock.monotonicMs() - startedMs)
    },
    onHang: ({ uptimeMs, frames }) =>
      countAll(
        guiltyBy(frames.join('\n')),
        'a loop of it that does not end, or work without a pause,',
        uptimeMs,
      ),
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

/** What a process writes down of itself before it is ended since its event loop does not turn: `{uptime_ms, frames, …}`. */
export function hangNoteOf(pluginsDir: string): string {
  return join(pluginsDir, 'hang.json')
}

/** Has the plugin blamed that kept the process before from turning its event loop, and says so. The note goes. */
export function sayHang(log: Log, pluginsDir: string, blame: Pick<Blame, 'onHang'>): void {
  const path = hangNoteOf(pluginsDir)
  const hang = readHang(path)
  if (hang === undefined) return
  const folders = blame.onHang(hang)
  rmSync(path, { force: true })
  const remedy =
    folders.length === 0
      ? {}
      : { remedy: 'the second time in a row the start goes without it; svc plugin disable leaves it out' }
  log.error(
    { plugin_folders: folders, frames: hang.frames.slice(0, 5), ...remedy },
    'the service was ended: its event loop did not turn any more',
  )
}

function readHang(path: string): Hang | undefined {
  try {
    const { uptime_ms: uptimeMs, frames } = Object(JSON.parse(readFileSync(path, 'utf8'))) as Record<
      string,
      unknown
    >
    const isHang = typeof uptimeMs === 'number' && Array.isArray(frames)
    return isHang ? { uptimeMs, frames: frames.map(String) } : undefined
  } catch {
    return undefined
  }
}
