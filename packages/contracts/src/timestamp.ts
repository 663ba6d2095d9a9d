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

const DAY_MS = 86_400_000
/** The first ms of the year 10000: from there on, and before 1970, a year has more than four digits. */
const YEAR_10000_MS = 253_402_300_800_000
/** Days whose dates are remembered: a page has some hundred moments of few days. */
const MOST_DAYS = 64
const ZERO = 0x30
const COLON = 0x3a
const POINT = 0x2e
const Z = 0x5a

const dates = new Map<number, string>()

/** Moments whose text is remembered, by their last six bits: rows of a batch share theirs. */
const SLOTS = 64
const moments = new Float64Array(SLOTS)
const texts = new Array<string>(SLOTS).fill('1970-01-01T00:00:00.000Z')

/** The timestamp of a moment, null for none. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestampFromMs(ms)
}

/**
 * The RFC 3339 UTC timestamp, with milliseconds and `Z`, of ms since the epoch. As `Date` writes it, at a fifth of the
 * time: a page of a list has hundreds.
 */
export function timestampFromMs(ms: number): string {
  const slot = ms & (SLOTS - 1)
  if (moments[slot] === ms) return texts[slot] ?? ''
  if (!Number.isInteger(ms) || ms < 0 || ms >= YEAR_10000_MS) return new Date(ms).toISOString()
  const text = textOf(ms)
  moments[slot] = ms
  texts[slot] = text
  return text
}

function textOf(ms: number): string {
  const day = Math.floor(ms / DAY_MS)
  const rest = ms - day * DAY_MS
  const seconds = Math.floor(rest / 1_000)
  const [hour, minute, second] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const time = String.fromCharCode(
    tens(hour),
    ones(hour),
    COLON,
    tens(minute),
    ones(minute),
    COLON,
    tens(second),
    ones(second),
    POINT,
    ZERO + Math.floor((rest % 1_000) / 100),
    tens(rest % 100),
    ones(rest),
    Z,
  )
  return dateOf(day) + time
}

function tens(value: number): number {
  return ZERO + Math.floor(value / 10)
}

function ones(value: number): number {
  return ZERO + (value % 10)
}

/** The date so many days after 1970-01-01, and the `T`. */
function dateOf(day: number): string {
  const known = dates.get(day)
  if (known !== undefined) return known
  if (dates.size >= MOST_DAYS) dates.clear()
  const date = new Date(day * DAY_MS).toISOString().slice(0, 11)
  dates.set(day, date)
  return date
}
