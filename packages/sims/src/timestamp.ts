/** RFC 3339 §5.6 `date-time` with a zone; seconds may have a fraction. */
const DATE_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Ms since the epoch of an RFC 3339 timestamp; undefined when the text is none or its day does not exist. */
export function msFromTimestamp(text: string): number | undefined {
  if (!DATE_TIME.test(text)) return undefined
  const ms = Date.parse(text.toUpperCase())
  if (Number.isNaN(ms)) return undefined
  const day = text.slice(0, 10)
  // Date.parse takes 30 February for 2 March.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? ms : undefined
}

/** The RFC 3339 UTC timestamp, with milliseconds and `Z`; null for null. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
