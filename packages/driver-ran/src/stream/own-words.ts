import { plainLine } from './radio-event.ts'

const TROUBLE =
  /error|invalid|unrecogni[sz]ed|failed|fail |couldn't|could not|cannot|not found|unable|not (?:a )?valid|must be|only one/iu
/** Lines that every start without a core prints; they explain no exit. */
const USUAL = /^Failed to initiate S1 connection|^Could not verify|scaling governor|real-time priority/iu
const KEPT_LINES = 6
const WORDS_CHARACTERS = 600

/** The last lines in which the program complains, for a report in its own words. */
export interface OwnWords {
  note(line: string): void
  /** The complaints so far, oldest first, without repetition; undefined when there was none. */
  text(): string | undefined
}

/** Keeps the last complaints; bounded. `plainLine` takes identities out. */
export function ownWords(): OwnWords {
  const kept: string[] = []
  return {
    note: (raw) => {
      const line = plainLine(raw, 240)
      if (!TROUBLE.test(line) || USUAL.test(line) || kept.includes(line)) return
      kept.push(line)
      if (kept.length > KEPT_LINES) kept.shift()
    },
    text: () => (kept.length === 0 ? undefined : kept.join(' | ').slice(0, WORDS_CHARACTERS)),
  }
}
