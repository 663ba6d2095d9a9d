import type { Engine } from '../engine/engine.ts'
import { type NewLines, positionFrom } from './log-file.ts'

/** When the last line was written that was read, and how many of that very moment were. */
interface OutputPosition {
  readonly at: string
  readonly count: number
}

/** Lines that are asked for; more when they do not reach back to the position. An engine reads a log from its end. */
const LINES = [500, 20_000] as const
/** `2026-11-23T12:00:00.123456789Z the line` */
const LINE = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})) ?(.*)$/

/**
 * The lines of a container's output since `position`; without one none, and the position of its end. Lines of a container
 * that was taken away before are gone with it. Throws `southbound_unavailable`.
 */
export async function newLinesOfOutput(
  engine: Pick<Engine, 'logsSince'>,
  container: string,
  position: string | undefined,
  signal: AbortSignal,
): Promise<NewLines> {
  const from = positionFrom<OutputPosition>(
    position,
    ({ at, count }) => typeof at === 'string' && typeof count === 'number',
  )
  if (from === undefined) {
    const there = timedIn(await engine.logsSince(container, LINES[0], undefined, signal))
    const at = there.at(-1)?.at ?? new Date(0).toISOString()
    const count = there.filter((line) => compare(line.at, at) === 0).length
    return { lines: [], position: JSON.stringify({ at, count }), isWhole: true }
  }
  let isWhole = false
  let timed: readonly Timed[] = []
  for (const lines of LINES) {
    timed = timedIn(await engine.logsSince(container, lines, from.at, signal))
    isWhole = timed.length < lines
    if (isWhole) break
  }
  const fresh = timed.filter(({ at }) => compare(at, from.at) > 0)
  const again = timed.filter(({ at }) => compare(at, from.at) === 0).slice(from.count)
  const lines = [...again, ...fresh]
  const at = lines.at(-1)?.at ?? from.at
  const ofThen = lines.filter((line) => compare(line.at, at) === 0).length
  const count = compare(at, from.at) === 0 ? from.count + ofThen : ofThen
  return { lines: lines.map(({ text }) => text), position: JSON.stringify({ at, count }), isWhole }
}

interface Timed {
  readonly at: string
  readonly text: string
}

function timedIn(output: string): readonly Timed[] {
  const lines = output.split('\n').flatMap((line) => {
    const [, at, text] = LINE.exec(line.trimEnd()) ?? []
    return at === undefined || text === undefined ? [] : [{ at, text }]
  })
  // Standard output and error are two streams.
  return lines.toSorted((a, b) => compare(a.at, b.at))
}

/** Of two moments: to the second by the clock, behind it digit by digit, which no number holds. */
function compare(a: string, b: string): number {
  const seconds = secondsOf(a) - secondsOf(b)
  if (seconds !== 0) return seconds
  const [x, y] = [fractionOf(a), fractionOf(b)]
  return x === y ? 0 : x < y ? -1 : 1
}

function secondsOf(at: string): number {
  return Math.floor(Date.parse(at.replace(/\.\d+/, '')) / 1_000)
}

function fractionOf(at: string): string {
  return (/\.(\d+)/.exec(at)?.[1] ?? '').padEnd(9, '0')
}
