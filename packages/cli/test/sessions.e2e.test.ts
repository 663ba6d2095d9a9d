import { assert, suite } from '@steeple/testkit'
import { against } from './fake-service.ts'
import { svc } from './svc.ts'

const sessions = suite('cli/sessions')
const HASH = '5c1b940e9d29'

const SESSION = {
  id: 's-1',
  imsi_sha256_12: HASH,
  apn: 'internet',
  ue_ip: '10.45.0.2',
  state: 'active',
  started_at: '2026-11-21T18:52:00.000Z',
  up_bytes: 1_500,
  down_bytes: 2_345_678,
  technology: 'lte',
  cell: null,
  source: 'gtpu',
  ended_at: null,
  plmn: '999-99',
}
const USAGE = {
  imsi_sha256_12: HASH,
  up_bytes: 1_000_000,
  down_bytes: 3_000_000,
  total_bytes: 4_000_000,
  quota_bytes: 5_000_000,
  remaining_bytes: 1_000_000,
  over_quota: false,
  period: 'month',
  added_bytes: 0,
  action: 'suspend',
  enforcement: 'none',
  period_start: '2026-10-31T23:00:00.000Z',
  period_end: '2026-11-30T23:00:00.000Z',
  time_zone: 'Europe/Berlin',
  known_until: '2026-11-21T18:52:00.000Z',
  unknown_reason: 'no collector works',
  updated_at: '2026-11-21T18:52:00.000Z',
  by_source: {
    gtpu: { up_bytes: 1_000_000, down_bytes: 3_000_000 },
    cdr: { up_bytes: 999_999, down_bytes: 0 },
  },
  series: [
    { at: '2026-11-20T23:00:00.000Z', up_bytes: 1_000_000, down_bytes: 1_000_000 },
    { at: '2026-11-22T23:00:00.000Z', up_bytes: 0, down_bytes: 2_000, is_incomplete: true },
  ],
}

sessions('lists who is online by filter, and who was', async () => {
  const live = await against(
    () => ({ body: { sessions: [SESSION], next_cursor: null } }),
    ['sessions', '--apn', 'internet', '--sim', HASH, '--limit', '10'],
  )
  assert.is(live.code, 0, live.err)
  assert.equal(live.seen[0]?.query, { apn: 'internet', imsi: HASH, limit: '10' })
  assert.match(live.out, /^SIM +APN +ADDRESS +STATE +UP +DOWN +STARTED +RADIO +CELL +SOURCE$/m)
  assert.match(
    live.out,
    /^5c1b940e9d29 +internet +10\.45\.0\.2 +active +1\.5 kB +2\.3 MB +2026-11-21 18:52:00Z +lte +- +gtpu$/m,
  )
  const ended = { ...SESSION, state: 'ended', ended_at: '2026-11-21T19:00:00.000Z' }
  const was = await against(
    () => ({ body: { sessions: [ended], next_cursor: null } }),
    ['sessions', '--state', 'ended'],
  )
  assert.equal([was.seen[0]?.path, was.seen[0]?.query.state], ['/v1/sessions', 'ended'])
  assert.match(was.out, /2026-11-21 18:52:00Z +2026-11-21 19:00:00Z/)
  const json = await against(
    () => ({ body: { sessions: [SESSION], next_cursor: null } }),
    ['sessions', '--json'],
  )
  assert.equal(JSON.parse(json.out), { sessions: [SESSION], next_cursor: null })
})

sessions('sends no identity but the hash', async () => {
  for (const args of [
    ['sessions', '--sim', '999990000000001'],
    ['usage', '999990000000001'],
  ]) {
    const run = await against(() => ({ body: {} }), args)
    assert.equal([run.code, run.seen.length], [2, 0])
    assert.not.match(run.err, '999990000000001')
  }
})

sessions('draws what a SIM used, within 80 columns where there is no screen', async () => {
  const run = await against(
    () => ({ body: USAGE }),
    ['usage', HASH, '--from', '2026-11-20T00:00:00Z', '--to', '2026-11-23T12:00:00Z'],
  )
  assert.is(run.code, 0, run.err)
  assert.is(run.seen[0]?.path, `/v1/sims/${HASH}/usage`)
  assert.equal(run.seen[0]?.query, {
    from: '2026-11-20T00:00:00.000Z',
    to: '2026-11-23T12:00:00.000Z',
    step: 'day',
  })
  assert.match(run.out, /^used +4\.0 MB \(1\.0 MB up, 3\.0 MB down\)$/m)
  assert.match(run.out, /^quota +5\.0 MB, then suspend$/m)
  assert.match(run.out, /^unknown +what was used after 2026-11-21 19:52: no collector works$/m)
  assert.match(run.out, /^left +1\.0 MB$/m)
  assert.match(run.out, /^cdr +1\.0 MB +0 B$/m)
  assert.match(run.out, /^period +month, from 2026-11-01 00:00 to 2026-12-01 00:00 Europe\/Berlin$/m)
  const [before, most = '', none = '', little = ''] = run.out.trimEnd().split('\n').slice(-4)
  assert.is(before, '', 'days before the first with usage are left out')
  assert.match(none, /^2026-11-22 +0 B down +0 B up$/)
  assert.match(most, /^2026-11-21 {2}█+ {2}1\.0 MB down {2}1\.0 MB up$/)
  assert.match(little, /^2026-11-23 {2}▏ +2\.0 kB down +0 B up {2}or more$/)
  for (const line of run.out.split('\n')) assert.ok(line.length <= 80, line)
})

sessions(
  'asks for the last day by hours, says it when there is nothing, and gives JSON as it is',
  async () => {
    const empty = { ...USAGE, quota_bytes: null, remaining_bytes: null, by_source: {}, series: [] }
    const run = await against(() => ({ body: empty }), ['usage', HASH, '--by', 'hour'])
    const { from = '', to = '', step } = run.seen[0]?.query ?? {}
    assert.is(step, 'hour')
    const hours = (Date.parse(to) - Date.parse(from)) / 3_600_000
    assert.ok(hours >= 24 && hours <= 25, `${hours}`)
    assert.match(run.out, /^quota +none$/m)
    assert.match(run.out, /Nothing was used in this time/)
    const series = [{ at: '2026-11-20T22:30:00.000Z', up_bytes: 1, down_bytes: 1 }]
    const half = await against(
      () => ({ body: { ...USAGE, time_zone: 'Asia/Kolkata', series } }),
      ['usage', HASH, '--by', 'hour', '--from', '2026-11-20T20:30:00Z', '--to', '2026-11-21T00:30:00Z'],
    )
    const titles = [...half.out.matchAll(/^2026-11-21 (\d\d:\d\d)/gm)].map(([, title]) => title)
    assert.equal(titles, ['04:00', '05:00'])
    const json = await against(() => ({ body: USAGE }), ['usage', HASH, '--json'])
    assert.equal(JSON.parse(json.out), USAGE)
    for (const args of [
      ['--from', 'yesterday'],
      ['--to', '2020-01-01T00:00:00Z', '--from', '2021-01-01T00:00:00Z'],
    ]) {
      const wrong = await svc(['usage', HASH, ...args])
      assert.is(wrong.code, 2)
    }
  },
)

sessions.run()
