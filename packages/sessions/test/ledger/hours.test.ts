import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { localHours } from '../../src/ledger/hours.ts'

const hours = suite('sessions/ledger/hours')
const HOUR_MS = 3_600_000
/** Those of half and three quarter hours, of changes by half an hour and around Ramadan, and of a day that was left out. */
const ODD = [
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Antarctica/Troll',
  'Pacific/Apia',
  'Pacific/Chatham',
]
const ZONES = fc.oneof(fc.constantFrom(...ODD), fc.constantFrom(...Intl.supportedValuesOf('timeZone')))
const at = (text: string): number => Date.parse(text)

hours('begins hours where local clocks do, in zones of half and three quarter hours too', () => {
  assert.is(localHours('Asia/Kathmandu').hourOf(at('2026-11-22T10:20:00Z')), at('2026-11-22T10:15:00Z'))
  assert.is(localHours('Asia/Kathmandu').nextHour(at('2026-11-22T10:20:00Z')), at('2026-11-22T11:15:00Z'))
  assert.is(localHours('Asia/Kolkata').hourOf(at('2026-11-22T10:20:00Z')), at('2026-11-22T09:30:00Z'))
  assert.is(localHours('UTC').hourOf(at('2026-11-22T10:20:00Z')), at('2026-11-22T10:00:00Z'))
})

hours('keeps the two hours apart that clocks show twice, and the half one that they enter', () => {
  const vienna = localHours('Europe/Vienna')
  // 2026-10-25: 02:00 CEST and 02:00 CET.
  assert.is(vienna.hourOf(at('2026-10-25T00:30:00Z')), at('2026-10-25T00:00:00Z'))
  assert.is(vienna.hourOf(at('2026-10-25T01:30:00Z')), at('2026-10-25T01:00:00Z'))
  const island = localHours('Australia/Lord_Howe')
  // 2026-10-04: 02:00 becomes 02:30 (UTC 15:30 of the day before).
  assert.is(island.hourOf(at('2026-10-03T15:40:00Z')), at('2026-10-03T15:30:00Z'))
  assert.is(island.nextHour(at('2026-10-03T15:40:00Z')), at('2026-10-03T16:00:00Z'))
})

hours('begins days at local midnight, and when the first hour is left out at the hour behind it', () => {
  const vienna = localHours('Europe/Vienna')
  assert.is(vienna.dayOf(at('2026-03-29T12:00:00Z')), at('2026-03-28T23:00:00Z'))
  assert.is(vienna.dayOf(at('2026-10-25T22:59:00Z')), at('2026-10-24T22:00:00Z'))
  // Egypt puts its clocks on at midnight: 2026-04-24 begins at 01:00.
  assert.is(localHours('Africa/Cairo').dayOf(at('2026-04-24T09:00:00Z')), at('2026-04-23T22:00:00Z'))
})

hours('leaves no time out and has none twice, in any zone', () => {
  fc.assert(
    fc.property(
      ZONES,
      fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') }),
      (zone, atMs) => {
        const local = localHours(zone)
        const hourMs = local.hourOf(atMs)
        const nextMs = local.nextHour(atMs)
        assert.ok(hourMs <= atMs && atMs < nextMs && nextMs - hourMs <= HOUR_MS)
        assert.is(local.hourOf(hourMs), hourMs)
        assert.is(local.hourOf(nextMs), nextMs)
        assert.is(local.hourOf(nextMs - 1), hourMs)
        assert.ok(local.dayOf(atMs) <= hourMs)
        assert.is(local.dayOf(local.dayOf(atMs)), local.dayOf(atMs))
      },
    ),
    { numRuns: 300 },
  )
})

hours.run()
