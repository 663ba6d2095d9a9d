import { plainLine } from './radio-event.ts'

const TROUBLE =
  /error|invalid|unrecogni[sz]ed|failed|fail |couldn't|could not|cannot|not found|unable|\[E\]|not (?:a )?valid|must be|only one|timed out/iu
/**
 * Lines that every start without a core prints, and figures: they explain no exit, and the state of S1 or NG is told elsewhere.
 */
const USUAL =
  /^\[METRICS|^\[S1AP|^\[\w+ *\] \[[DI]\]|^Failed to initiate S1 connection|^S1setup failed|^connect\(\): |^Could not verify|Could not check (?:scaling governor|DRM KMS)|Emergency flush of the logger|scaling governor|real-time priority/iu
/** Lines that say nothing of a reason: what every start begins with, and what every refusal ends with. */
const FORMAL = /^$|^--== |^Run with --help|ERROR: Invalid configuration detected/u
/** What a line of the log begins with: when it was written, and in which subframe. */
const STAMP = /^\d{4}-\d\d-\d\dT\S+ |\[ *\d+\] /gu
const KEPT_LINES = 6
const WORDS_CHARACTERS = 600
/** Of a program that runs only the newest complaints are shown, so long, ms. */
const RECENT_MS = 60_000
const RECENT_LINES = 3
const RECENT_CHARACTERS = 300

/** The last lines in which the program complains, for a report in its own words. Times are the monotonic clock's, ms. */
export interface OwnWords {
  note(line: string, nowMs: number): void
  /** The complaints so far, oldest first, without repetition; undefined when there was none. */
  text(): string | undefined
  /** The last line that may be a reason, complaint or not; undefined when there was none. A validator may state what is wrong. */
  last(): string | undefined
  /** Those of the last minute. */
  recent(nowMs: number): string | undefined
}

/** Keeps the last complaints; bounded. `plainLine` takes identities out. */
export function ownWords(): OwnWords {
  const kept = new Map<string, number>()
  let last: string | undefined
  return {
    note: (raw, nowMs) => {
      const line = plainLine(raw, 240).replaceAll(STAMP, '')
      if (USUAL.test(line)) return
      if (!FORMAL.test(line)) last = line
      if (!TROUBLE.test(line)) return
      const isNew = !kept.has(line)
      kept.set(line, nowMs)
      const [oldest] = kept.keys()
      if (isNew && kept.size > KEPT_LINES && oldest !== undefined) kept.delete(oldest)
    },
    text: () => joined([...kept.keys()], WORDS_CHARACTERS),
    last: () => last,
    recent: (nowMs) => {
      const recent = [...kept].filter(([, atMs]) => nowMs - atMs < RECENT_MS)
      recent.sort(([, a], [, b]) => a - b)
      return joined(
        recent.slice(-RECENT_LINES).map(([line]) => line),
        RECENT_CHARACTERS,
      )
    },
  }
}

function joined(lines: readonly string[], characters: number): string | undefined {
  return lines.length === 0 ? undefined : lines.join(' | ').slice(0, characters)
}
