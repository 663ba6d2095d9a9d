import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { h, inBrowser, show } from './support/page.ts'

const { bytesText, rateText } = await import('../src/ui/bytes.tsx')
const { durationText, Lasted, Time } = await import('../src/ui/time.tsx')
const { Said } = await import('../src/ui/parts.tsx')
const { whoOf, whoText } = await import('../src/ui/who.ts')
const { componentText } = await import('../src/text/index.ts')

/** Amounts, times and names as people say them. */
const format = suite('console/format')
inBrowser(format)

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

format('says amounts in thousands, and never a thousand of a unit that has a larger one', () => {
  for (const [bytes, text] of [
    [0, '0 B'],
    [1, '1 B'],
    [999, '999 B'],
    [1_000, '1 kB'],
    [1_049, '1 kB'],
    [1_050, '1.1 kB'],
    [99_949, '99.9 kB'],
    [99_960, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1 MB'],
    [35_400_000, '35.4 MB'],
    [999_999_999, '1 GB'],
    [1e12, '1 TB'],
    [2.5e15, '2,500 TB'],
  ] as const)
    assert.is(bytesText(bytes), text, String(bytes))
  for (const [bps, text] of [
    [0, '0 bit/s'],
    [64_000, '64 kbit/s'],
    [999_960, '1 Mbit/s'],
    [1_500_000, '1.5 Mbit/s'],
    [1e9, '1 Gbit/s'],
  ] as const)
    assert.is(rateText(bps), text, String(bps))
})

format('says an amount that is larger by no smaller text', () => {
  const sizes = ['B', 'kB', 'MB', 'GB', 'TB']
  const meant = (text: string): number => {
    const [number = '', unit = ''] = text.replaceAll(',', '').split(' ')
    return Number(number) * 1_000 ** sizes.indexOf(unit)
  }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (bytes) => {
      const said = meant(bytesText(bytes))
      // A digit behind the point, and above a hundred none.
      assert.ok(Math.abs(said - bytes) <= bytes * 0.051, `${bytes}: ${bytesText(bytes)}`)
      assert.ok(said <= meant(bytesText(bytes + Math.ceil(bytes / 10) + 1)))
    }),
  )
})

format('says how long something went on, and never sixty of a unit', () => {
  for (const [ms, text] of [
    [0, '0 s'],
    [400, '0.4 s'],
    [9_960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min'],
    [61 * SECOND, '1 min'],
    [59 * MINUTE + 59_400, '59 min'],
    [59 * MINUTE + 59_900, '1 h 0 min'],
    [2 * HOUR + 5 * MINUTE, '2 h 5 min'],
    [DAY - SECOND, '23 h 59 min'],
    [DAY, '1 d 0 h'],
    [3 * DAY + 4 * HOUR + 59 * MINUTE, '3 d 4 h'],
  ] as const)
    assert.is(durationText(ms), text, String(ms))
})

format('says how long ago something was, and never sixty minutes or twenty-four hours', async () => {
  for (const [ms, text] of [
    [0, 'now'],
    [-9 * SECOND, '9 seconds ago'],
    [-59_700, '1 minute ago'],
    [-59 * MINUTE - 40 * SECOND, '1 hour ago'],
    [-23 * HOUR - 40 * MINUTE, 'yesterday'],
    [-35 * HOUR, 'yesterday'],
    [-40 * DAY, '40 days ago'],
    [80 * SECOND, 'in 1 minute'],
    [3 * HOUR + MINUTE, 'in 3 hours'],
  ] as const) {
    // What is ahead is so by a moment less when it is drawn.
    const at = () => new Date(Date.now() + ms + (ms > 0 ? 500 : 0)).toISOString()
    const page = await show(() => h(Time, { at: at(), relative: true }))
    assert.is(page.text(), text, String(ms))
  }
})

format('says what goes on, and how long what is over went on', async () => {
  const from = '2026-01-01T12:00:00Z'
  assert.is((await show(() => h(Lasted, { from, to: null }))).text(), '–')
  assert.is((await show(() => h(Lasted, { from, to: '2026-01-01T13:30:00Z' }))).text(), '1 h 30 min')
})

format('writes moments in the words of the service as people do, and leaves the rest', async () => {
  const at = '2026-01-01T12:34:56.789Z'
  const said = `not before ${at}, and not after 2026-01-02`
  const page = await show(() => h(Said, { children: said }))
  assert.match(page.text(), /^not before 1 Jan 2026, \d\d:34, and not after 2026-01-02$/)
  assert.is(document.querySelector('time')?.getAttribute('datetime'), at)
  assert.is(document.querySelector('[lang]')?.getAttribute('lang'), 'en')
})

format('names who did something: people by their names, and what has none by what it is', () => {
  for (const [who, text] of [
    ['user:ada', 'ada'],
    ['token:meter:2', 'meter:2'],
    ['admin-env:admin-env', 'the admin token of the box'],
    ['system:kernel', 'the box itself'],
    ['node:', 'a box'],
    ['somebody', 'somebody'],
    ['', ''],
  ] as const)
    assert.is(whoOf(who), text, who)
  assert.is(whoText({ kind: 'user', name: 'system' }), 'system')
})

format('names components by what people call them, of this box and of others', () => {
  for (const [name, text] of [
    ['nodes.disk', 'Disk'],
    ['node/hill', 'Box hill'],
    ['node/hill/nodes.disk', 'Disk of box hill'],
    ['of.nobody', 'of.nobody'],
  ] as const)
    assert.is(componentText(name), text, name)
})

format.run()
