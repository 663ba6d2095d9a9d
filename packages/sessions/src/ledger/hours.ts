/**
 * Hours and days of a time zone, ms since the epoch. An hour is the time in which local clocks show the same hour under
 * the same offset: where they are put on or back by less than an hour, there is a shorter one.
 */
export interface LocalHours {
  /** When the hour began that `atMs` is in. */
  hourOf(atMs: number): number
  /** When the hour behind the one of `atMs` begins. */
  nextHour(atMs: number): number
  /** When the local day began that `atMs` is in. */
  dayOf(atMs: number): number
}

/** Offsets of time zones are whole quarters of an hour, and change at such (tz database, since 1972). */
const QUARTER_MS = 15 * 60_000
const HOUR_MS = 4 * QUARTER_MS
const DAY_MS = 24 * HOUR_MS
/** Farther back than any day is long. */
const BEFORE_DAY_MS = 27 * HOUR_MS
/** Quarters that are remembered. */
const MOST_QUARTERS = 50_000

/** The hours of an IANA time zone; of the machine's own when absent. When first asked, throws `RangeError` for one that is not known. */
export function localHours(zone?: string): LocalHours {
  const offsetOf = remembered(offsets(zone))
  const labelOf = (quarter: number, lengthMs: number): number =>
    Math.floor((quarter + offsetOf(quarter)) / lengthMs)
  const isSameHour = (one: number, other: number): boolean =>
    offsetOf(one) === offsetOf(other) && labelOf(one, HOUR_MS) === labelOf(other, HOUR_MS)
  const hourOf = remembered((quarter) => {
    let start = quarter
    while (isSameHour(start - QUARTER_MS, quarter)) start -= QUARTER_MS
    return start
  })
  const nextHour = remembered((quarter) => {
    let next = quarter + QUARTER_MS
    while (isSameHour(next, quarter)) next += QUARTER_MS
    return next
  })
  const dayOf = remembered((quarter) => {
    const day = labelOf(quarter, DAY_MS)
    let before = quarter - BEFORE_DAY_MS
    let within = quarter
    while (within - before > QUARTER_MS) {
      const middle = quarterOf((before + within) / 2)
      if (labelOf(middle, DAY_MS) < day) before = middle
      else within = middle
    }
    return within
  })
  return {
    hourOf: (atMs) => hourOf(quarterOf(atMs)),
    nextHour: (atMs) => nextHour(quarterOf(atMs)),
    dayOf: (atMs) => dayOf(quarterOf(atMs)),
  }
}

function quarterOf(atMs: number): number {
  return Math.floor(atMs / QUARTER_MS) * QUARTER_MS
}

function remembered(find: (quarter: number) => number): (quarter: number) => number {
  const known = new Map<number, number>()
  return (quarter) => {
    const seen = known.get(quarter)
    if (seen !== undefined) return seen
    if (known.size >= MOST_QUARTERS) known.clear()
    const found = find(quarter)
    known.set(quarter, found)
    return found
  }
}

/** How far local clocks are ahead of UTC at a time, ms. The first question loads zones and languages, which a start can do without. */
function offsets(zone: string | undefined): (atMs: number) => number {
  let format: Intl.DateTimeFormat | undefined
  return (atMs) => {
    format ??= new Intl.DateTimeFormat('en-US', {
      ...(zone === undefined ? {} : { timeZone: zone }),
      timeZoneName: 'longOffset',
    })
    const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    // `GMT`, `GMT+05:45`.
    const [, sign, hours, minutes] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    if (sign === undefined) return 0
    const ahead = (Number(hours) * 60 + Number(minutes)) * 60_000
    return sign === '-' ? -ahead : ahead
  }
}
