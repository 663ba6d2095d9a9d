import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type CalendarPeriod, calendarOf } from '../src/periods.ts'

const periods = suite('fair-use/periods')

/** Zones with odd offsets, odd changes, and days that were left out. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Asia/Gaza',
  'Africa/Casablanca',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Antarctica/Troll',
]
const PERIODS: readonly CalendarPeriod[] = ['day', 'week', 'month']
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const moment = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2060, 0, 1) })
const zone = fc.oneof(fc.constantFrom(...ZONES), fc.constantFrom(...Intl.supportedValuesOf('timeZone')))
const period = fc.constantFrom(...PERIODS)

/** Moments at which something happens: changes of the clock, turns of months and years. */
const edge = fc
  .tuple(
    fc.constantFrom(
      ...['2026-03-29T01:00Z', '2026-10-25T01:00Z', '2006-04-02T03:31Z', '2006-10-29T02:31Z'],
      ...['2018-02-18T02:00Z', '2018-11-04T03:00Z', '2011-12-30T10:00Z', '2026-04-04T15:00Z'],
      ...['2024-02-29T00:00Z', '2025-02-28T23:59Z', '2026-12-31T23:59Z', '2028-03-01T00:00Z'],
    ),
    fc.integer({ min: -26 * HOUR_MS, max: 26 * HOUR_MS }),
  )
  .map(([text, ms]) => Date.parse(text) + ms)

periods('follow each other without gap and overlap, in every zone', () => {
  fc.assert(
    fc.property(zone, period, fc.oneof(moment, edge), fc.double({ min: 0, max: 1, noNaN: true }), (...of) => {
      const [timeZone, kind, atMs, share] = of
      const span = (ms: number): ReturnType<ReturnType<typeof calendarOf>['spanOf']> =>
        calendarOf(timeZone).spanOf(kind, ms)
      const { startMs, endMs } = span(atMs)
      assert.ok(startMs <= atMs && atMs < endMs, `${timeZone} ${kind} ${new Date(atMs).toISOString()}`)
      const within = Math.floor(startMs + (endMs - 1 - startMs) * share)
      assert.equal(span(within), { startMs, endMs }, 'every moment of it is in it')
      assert.is(span(endMs).startMs, endMs, 'the next one begins where it ends')
      assert.is(span(startMs - 1).endMs, startMs, 'it begins where the one before ends')
    }),
    { numRuns: rounds(600) },
  )
})

periods('begin at the first moment of a day, a Monday, the first of a month', () => {
  fc.assert(
    fc.property(zone, moment, (timeZone, atMs) => {
      const calendar = calendarOf(timeZone)
      const word = (ms: number, options: Intl.DateTimeFormatOptions): string =>
        new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).format(ms)
      const date = (ms: number): string => word(ms, { dateStyle: 'short' })
      const day = calendar.spanOf('day', atMs)
      assert.is.not(date(day.startMs - 1), date(day.startMs))
      assert.is(word(calendar.spanOf('week', atMs).startMs, { weekday: 'long' }), 'Monday')
      assert.is(word(calendar.spanOf('month', atMs).startMs, { day: 'numeric' }), '1')
      assert.is(
        word(atMs, { month: 'long' }),
        word(calendar.spanOf('month', atMs).startMs, { month: 'long' }),
      )
    }),
    { numRuns: rounds(300) },
  )
})

periods('are as long as clocks make them', () => {
  const hours = (timeZone: string, kind: CalendarPeriod, at: string): number => {
    const { startMs, endMs } = calendarOf(timeZone).spanOf(kind, Date.parse(at))
    return (endMs - startMs) / HOUR_MS
  }
  assert.is(hours('Europe/Berlin', 'day', '2026-03-29T12:00Z'), 23)
  assert.is(hours('Europe/Berlin', 'day', '2026-10-25T12:00Z'), 25)
  assert.is(hours('Europe/Berlin', 'week', '2026-03-29T12:00Z'), 7 * 24 - 1)
  assert.is(hours('Europe/Berlin', 'month', '2026-10-25T12:00Z'), 31 * 24 + 1)
  assert.is(hours('Australia/Lord_Howe', 'day', '2026-04-05T02:00Z'), 24.5)
  assert.is(hours('UTC', 'month', '2024-02-29T12:00Z'), 29 * 24)
  assert.is(hours('UTC', 'month', '2025-02-28T12:00Z'), 28 * 24)
  // The day began an hour late, as its midnight was left out.
  const late = calendarOf('America/Sao_Paulo').spanOf('day', Date.parse('2018-11-04T12:00Z'))
  assert.is(new Date(late.startMs).toISOString(), '2018-11-04T03:00:00.000Z')
  assert.is(late.endMs - late.startMs, 23 * HOUR_MS)
  // 30 December 2011 was left out altogether.
  const before = calendarOf('Pacific/Apia').spanOf('day', Date.parse('2011-12-30T09:00Z'))
  assert.is(new Date(before.endMs).toISOString(), '2011-12-30T10:00:00.000Z')
  assert.is(before.endMs - before.startMs, DAY_MS)
})

periods('need a time zone that there is', () => {
  assert.throws(() => calendarOf('Europe/Atlantis').timeZone, /time ?zone/i)
})

periods.run()
