const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
}
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w|y)/gy

/** Pattern of a duration: numbers with units `ms s m h d w y`, as in `15m` or `1h30m`. */
export const DURATION_PATTERN = '^(\\d+(\\.\\d+)?(ms|s|m|h|d|w|y))+$'

/** Milliseconds of a duration such as `15m` or `1h30m`; undefined when it is none, is zero or exceeds 100 years. */
export function msFromDuration(text: string): number | undefined {
  let total = 0
  let parsedLength = 0
  PART.lastIndex = 0
  // It begins anew by itself once nothing fits any more.
  for (let part = PART.exec(text); part !== null; part = PART.exec(text)) {
    total += Number(part[1]) * (UNIT_MS[part[2] ?? ''] ?? Number.NaN)
    parsedLength = PART.lastIndex
  }
  const wholeMs = Math.round(total)
  return parsedLength === text.length && wholeMs > 0 && wholeMs <= 100 * 31_536_000_000 ? wholeMs : undefined
}
