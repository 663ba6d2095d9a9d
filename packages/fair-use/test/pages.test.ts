import { assert, suite } from '@steeple/testkit'
import { forecastOf } from '../pages/forecast.ts'
import { jumpOf, unitOf } from '../pages/quota-amount.ts'
import { beginning, placeOf, stepsOf } from '../pages/usage-steps.ts'

/** What the panels of a subscriber make of figures. */
const pages = suite('fair-use/pages')

pages('foresees when a quota is used up, and says nothing where nothing can be said', () => {
  const day = 86_400_000
  const month = {
    total_bytes: 10,
    quota_bytes: 100,
    added_bytes: 0,
    period_start: new Date(0).toISOString(),
    period_end: new Date(30 * day).toISOString(),
  }
  assert.equal(forecastOf(month, 10 * day), { total: 30, usedUpAt: undefined })
  const fast = forecastOf({ ...month, total_bytes: 50 }, 10 * day)
  assert.equal(fast, { total: 150, usedUpAt: new Date(20 * day).toISOString() })
  assert.is(forecastOf({ ...month, quota_bytes: null }, 10 * day), undefined)
  assert.is(forecastOf({ ...month, total_bytes: 0 }, 10 * day), undefined)
  assert.is(forecastOf(month, 60_000), undefined)
})

pages('opens a quota in the unit that people say it in, and asks before a hundred times more or less', () => {
  const [MB, GB] = [1_000_000, 1_000_000_000]
  assert.equal([5 * MB, 999 * MB, GB, 1.5 * GB, 0].map(unitOf), ['MB', 'MB', 'GB', 'GB', 'GB'])
  assert.equal(jumpOf(5 * MB, 500 * GB), { way: 'up', times: 100_000 })
  assert.equal(jumpOf(5 * GB, 500 * GB), { way: 'up', times: 100 })
  assert.equal(jumpOf(5 * GB, 5 * MB), { way: 'down', times: 1_000 })
  assert.equal(jumpOf(5 * GB, 0), { way: 'none', times: 0 })
  for (const [before, now] of [
    [5 * GB, 495 * GB],
    [null, 500 * GB],
    [0, 5 * MB],
    [5 * GB, Number.NaN],
  ] as const)
    assert.is(jumpOf(before, now), undefined, `${before} to ${now}`)
})

/** A moment of the zone that this runs in. */
const here = (day: number, hour: number, minute = 0): number => new Date(2026, 2, day, hour, minute).getTime()
const counted = (atMs: number, down: number) => ({
  ...{ at: new Date(atMs).toISOString(), down_bytes: down, up_bytes: 1 },
})

pages('gives a chart every day of the reader, those without usage and those of another length too', () => {
  const now = here(31, 13, 20)
  const from = beginning(now, 'day', 31)
  assert.is(from, here(1, 0))
  const series = [counted(here(2, 0), 5), counted(here(2, 23), 7), counted(here(31, 13), 9)]
  const steps = stepsOf(series, from, now, 'day')
  assert.equal(
    steps.map(({ atMs }) => atMs),
    Array.from({ length: 31 }, (_, at) => here(at + 1, 0)),
  )
  assert.equal(steps[1], { atMs: here(2, 0), downBytes: 12, upBytes: 2 })
  assert.equal(steps[30], { atMs: here(31, 0), downBytes: 9, upBytes: 1 })
  assert.is(
    steps.reduce((sum, { downBytes }) => sum + downBytes, 0),
    21,
  )
  assert.equal(stepsOf([], from, here(32, 0), 'day').at(-1), { atMs: here(32, 0), downBytes: 0, upBytes: 0 })
})

pages('gives a chart the last hours, and what lies in none whole to the one in which it begins', () => {
  const now = here(15, 13, 20)
  const from = beginning(now, 'hour', 24)
  assert.is(from, here(14, 14))
  // A zone of half an hour: the first hour of the count has begun before the chart.
  const steps = stepsOf([counted(from - 1_800_000, 3), counted(from + 1_800_000, 4)], from, now, 'hour')
  assert.is(steps.length, 24)
  assert.equal(steps[0], { atMs: from, downBytes: 7, upBytes: 2 })
  assert.is(placeOf(steps, now), 23)
  assert.is(placeOf(steps, from - 1), -1)
})

pages.run()
