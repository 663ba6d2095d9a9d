/** RFC 3339 §5.6 `date-time` with a zone; seconds may have a fraction. */
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Ms since the epoch of an RFC 3339 timestamp; undefined when the text is none or its day does not exist. */
export function msFromTimestamp(text: string): number | undefined {
  const parts = DATE_TIME.exec(text)
  if (parts === null) return undefined
  const [, year, month, day] = parts.map(Number)
  const ms = Date.parse(text.toUpperCase())
  return Number.isNaN(ms) || !isDay(year ?? 0, month ?? 0, day ?? 0) ? undefined : ms
}

/** The RFC 3339 UTC timestamp, with milliseconds and `Z`, of ms since the epoch. */
export function timestampFromMs(ms: number): string {
  return new Date(ms).toISOString()
}

/** Date.parse takes 30 February for 2 March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000, month - 1, 1))
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}
