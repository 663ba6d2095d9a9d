import { createRequire } from 'node:module'
import type { Clock } from '@steeple/contracts'
import type { Temporal } from 'temporal-polyfill'

/** Periods that the calendar begins anew. */
export type CalendarPeriod = 'day' | 'week' | 'month'
/** How long a quota is for; `none`: until it is used up. */
export type Period = CalendarPeriod | 'none'

/** From its first ms up to, but without, the first of the next; ms since the epoch. */
export interface Span {
  readonly startMs: number
  readonly endMs: number
}

/** The periods of a time zone. */
export interface Calendar {
  readonly timeZone: string
  /** The period that a moment lies in. Periods follow each other without gap and overlap, whatever clocks are set to. */
  spanOf(period: CalendarPeriod, atMs: number): Span
}

const MONDAY = 1
/** The lengths of time that a period adds. */
const LENGTHS: Readonly<Record<CalendarPeriod, Temporal.DurationLike>> = {
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
}

/**
 * The calendar of an IANA time zone; of the machine's own when absent. When first asked, throws RangeError for a name that is none: what
 * knows calendars and zones is loaded then, not by each start.
 */
export function calendarOf(name?: string): Calendar {
  // Mostly the same span is asked for, for one SIM after another.
  const last = new Map<CalendarPeriod, Span>()
  let zone: string | undefined
  const timeZone = (): string => {
    zone ??= temporal().Now.zonedDateTimeISO(name ?? machineZone()).timeZoneId
    return zone
  }
  return {
    get timeZone() {
      return timeZone()
    },
    spanOf: (period, at) => {
      const atMs = Math.floor(at)
      const known = last.get(period)
      if (known !== undefined && known.startMs <= atMs && atMs < known.endMs) return known
      const span = spanIn(timeZone(), period, atMs)
      last.set(period, span)
      return span
    },
  }
}

function temporal(): typeof Temporal {
  return (createRequire(import.meta.url)('temporal-polyfill') as { readonly Temporal: typeof Temporal })
    .Temporal
}

function machineZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

function spanIn(timeZone: string, period: CalendarPeriod, atMs: number): Span {
  const begun = firstDay(period, dateOf(timeZone, atMs))
  // A clock that is set back over midnight shows the day before again: its second part belongs to the day that has begun.
  const next = begun.add(LENGTHS[period])
  const start = startOf(timeZone, next) <= atMs ? next : begun
  return { startMs: startOf(timeZone, start), endMs: startOf(timeZone, start.add(LENGTHS[period])) }
}

function dateOf(timeZone: string, atMs: number): Temporal.PlainDate {
  return temporal().Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone).toPlainDate()
}

function firstDay(period: CalendarPeriod, date: Temporal.PlainDate): Temporal.PlainDate {
  if (period === 'week') return date.subtract({ days: date.dayOfWeek - MONDAY })
  return period === 'month' ? date.with({ day: 1 }) : date
}

/** The first ms of a day; of one that the zone has left out, that of the next. */
function startOf(timeZone: string, date: Temporal.PlainDate): number {
  return date.toZonedDateTime(timeZone).epochMilliseconds
}

/** The moment by which periods are judged. */
export interface Moment {
  readonly atMs: number
  /** The clock is in doubt: no period begins, and what would lie in a later one counts in this one. */
  readonly isDoubted: boolean
}

/** Time as periods go by it: it stands still while the clock is in doubt. */
export interface PeriodClock {
  readonly calendar: Calendar
  now(): Moment
}

/** A clock that begins with what the service goes by now. */
export function periodClock(clock: Clock, calendar: Calendar): PeriodClock {
  let believedMs = Math.floor(clock.nowMs())
  return {
    calendar,
    now: () => {
      const isDoubted = clock.doubt?.() !== undefined
      if (!isDoubted) believedMs = Math.floor(clock.nowMs())
      return { atMs: believedMs, isDoubted }
    },
  }
}
