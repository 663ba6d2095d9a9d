import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Incident, IncidentKind } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, suite, tempDir } from '@steeple/testkit'
import { OUTAGES_FILE, type Outage, outageBook, outagesAfter } from '../src/outages.ts'

/** What was wrong stays known when it is over. */
const outages = suite('nodes/outages')

function incident(
  kind: IncidentKind,
  sinceMs: number,
  some: Partial<Incident> = {},
  name: string = kind,
): Incident {
  const cause = { kind: 'feature', status: 'down', detail: '', required: false } as const
  return {
    ...{ id: kind, kind, title: kind, severity: 'critical', effects: [], sinceMs, phonesOff: undefined },
    cause: { ...cause, name, sinceMs, lastOkAtMs: undefined },
    ...some,
  }
}

/** The book after these looks, and what each began and ended. */
function after(looks: readonly (readonly [atMs: number, ...incidents: readonly Incident[]])[]) {
  let all: readonly Outage[] = []
  const told: string[] = []
  for (const [atMs, ...incidents] of looks) {
    const seen = outagesAfter(all, incidents, atMs)
    all = seen.all
    told.push(...seen.begun.map(({ id }) => `began ${id}`), ...seen.over.map(({ id }) => `over ${id}`))
  }
  return {
    rows: all.map(({ kind, sinceMs, untilMs, phonesOff }) => [kind, sinceMs, untilMs, phonesOff]),
    told,
  }
}

outages('are one row each, from begin to end, with the most phones that were off', () => {
  const core = (phonesOff: number | undefined) => incident('no_core', 1_000, { phonesOff })
  const { rows, told } = after([
    [1_000, core(undefined)],
    [5_000, core(13)],
    [9_000, core(4), incident('no_internet', 8_000)],
    [60_000, incident('no_internet', 8_000)],
    [90_000],
  ])
  assert.equal(rows, [
    ['no_internet', 8_000, 90_000, undefined],
    ['no_core', 1_000, 60_000, 13],
  ])
  assert.equal(told, ['began no_core', 'began no_internet', 'over no_core', 'over no_internet'])
})

outages('of one disk that fills up and is freed are one, named by its gravest', () => {
  const disk = (kind: IncidentKind, sinceMs: number) =>
    incident(kind, sinceMs, { severity: kind === 'disk_full' ? 'critical' : 'warning' }, 'nodes.disk')
  const looks = [
    [0, disk('disk_low', 0)],
    [9_000, disk('disk_full', 9_000)],
    [20_000, disk('disk_low', 20_000)],
  ] as const
  assert.equal(after([...looks, [40_000]]).rows, [['disk_full', 0, 40_000, undefined]])
})

outages(
  'have one row with what was seen before them and what lasts longer, and leave older ones alone',
  () => {
    const disk = incident('disk_full', 5_000, { effects: ['store', 'backup'] }, 'nodes.disk')
    const [store, backup] = [
      incident('store_gone', 2_000, {}, 'store'),
      incident('backup_overdue', -90_000, { severity: 'warning' }, 'backup'),
    ]
    const looks = [[0, backup], [2_000, backup, store], [6_000, disk], [40_000, store], [50_000]] as const
    assert.equal(after(looks).rows, [
      ['disk_full', 2_000, 50_000, undefined],
      ['backup_overdue', -90_000, 6_000, undefined],
    ])
  },
)

outages(
  'of a core that is seen to be dead after its radios are one, and the radio of before is another',
  () => {
    const radio = (sinceMs: number) => incident('no_radio', sinceMs, { phonesOff: 16 }, 'core.radios')
    const core = (sinceMs: number) =>
      incident('no_core', sinceMs, { effects: ['core.radios'], phonesOff: 16 }, 'core.daemons')
    for (const between of [[radio(0)], []]) {
      const looks = [[0, radio(0)], [50_000, ...between], [60_000, core(60_000)], [120_000]] as const
      assert.equal(
        after(looks).rows.map(([kind]) => kind),
        ['no_core'],
        JSON.stringify(between),
      )
    }
    const hour = 3_600_000
    assert.equal(
      after([[0, radio(0)], [hour, core(hour)], [2 * hour]]).rows.map(([kind]) => kind),
      ['no_core', 'no_radio'],
    )
  },
)

outages('that come back within seconds go on, and later ones are others', () => {
  const line = (sinceMs: number) => incident('no_internet', sinceMs)
  assert.equal(after([[0, line(0)], [20_000], [35_000, line(35_000)], [70_000]]).rows, [
    ['no_internet', 0, 70_000, undefined],
  ])
  assert.is(after([[0, line(0)], [20_000], [90_000, line(90_000)]]).rows.length, 2)
})

outages('are not made of a part that is ill for seconds, nor end before they began', () => {
  for (const severity of ['warning', 'critical'] as const)
    assert.equal(after([[0, incident('part', 0, { severity })], [9_000]]).rows, [])
  assert.equal(after([[50_000, incident('clock_wrong', 50_000)], [1_000]]).rows, [
    ['clock_wrong', 50_000, 50_000, undefined],
  ])
})

outages('outlast the service, and a damaged list is begun anew', async () => {
  await using folder = await tempDir()
  const clock = fakeClock()
  const open = () =>
    outageBook(
      fakeContext({ id: 'nodes', config: {}, clock, settings: { server: { data_dir: folder.path } } })
        .context,
    )
  const first = open()
  await first.see([incident('store_gone', clock.nowMs())])
  await clock.advance(120_000)
  const again = open()
  assert.equal(
    again.all().map(({ kind, untilMs }) => [kind, untilMs]),
    [['store_gone', undefined]],
  )
  await again.see([])
  assert.is(open().all()[0]?.untilMs, Math.floor(clock.nowMs()))
  assert.match(readFileSync(join(folder.path, OUTAGES_FILE), 'utf8'), 'store_gone')
  writeFileSync(join(folder.path, OUTAGES_FILE), '{"not": "a list"}')
  assert.equal(open().all(), [])
})

outages.run()
