import { type HealthBoard, healthBoardRef, type ImsiHash, type RecordedSession } from '@steeple/contracts'
import { assert, bodyOf, codeOf, eventually, rounds, suite } from '@steeple/testkit'
import { type UsageBody, type World, world } from './support/world.ts'

const reports = suite('fair-use/reports', { limitMs: 600_000 })
let all: World
let hash: ImsiHash
const DAY_MS = 86_400_000
/** SIMs that the many reports are about. */
const SIMS = 50

reports.before(async () => {
  all = await world()
  hash = await all.issue('999990000000001')
})
reports.after(() => all.close())

const report = (body: object, token?: string): ReturnType<World['bed']['request']> =>
  all.bed.request('POST', `/v1/sims/${hash}/usage`, { body, ...(token === undefined ? {} : { token }) })

reports('adds what was used, and answers with all of it', async () => {
  const body = { up_bytes: 10, down_bytes: 20, report_id: 'a', source: 'meter-1', at: '2026-06-14T00:00:00Z' }
  const first = bodyOf<UsageBody>(await report(body))
  assert.equal([first.up_bytes, first.down_bytes, first.total_bytes], [10, 20, 30])
  assert.equal(first.by_source['submission:meter-1'], { up_bytes: 10, down_bytes: 20, is_incomplete: false })
  assert.is(bodyOf<UsageBody>(await report(body)).total_bytes, 30)
  // Under the same name, but not the same.
  assert.is(codeOf(await report({ ...body, up_bytes: 11 }), 409), 'report_id_reused')
  assert.is(codeOf(await report({ ...body, source: 'meter-2' }), 409), 'report_id_reused')
  assert.is((await all.usage(hash)).total_bytes, 30)
  const points = (await all.usage(hash, '?step=day&from=2026-06-13T00:00:00Z&to=2026-06-16T00:00:00Z')).series
  assert.equal(points?.[0], {
    at: '2026-06-14T00:00:00.000Z',
    up_bytes: 10,
    down_bytes: 20,
    is_incomplete: false,
  })
})

reports('takes them from nodes for themselves alone, and from nobody who only looks', async () => {
  const node = all.bed.credential({ kind: 'node', id: 'node-1', roles: ['node'] })
  const session = attached('10.45.0.9', 3_600_000)
  all.ledger.behind.set('node-1', '10.45.0.9')
  const own = bodyOf<UsageBody>(await report({ up_bytes: 1, down_bytes: 0, report_id: 'n1' }, node))
  assert.is(own.by_source['submission:node-1']?.up_bytes, 1)
  const others = { up_bytes: 1, down_bytes: 0, report_id: 'n2', source: 'node-2' }
  assert.is(codeOf(await report(others, node), 403), 'forbidden')
  const viewer = all.bed.credential({ kind: 'user', id: 'v', roles: ['viewer'] })
  assert.is(codeOf(await report({ up_bytes: 1, down_bytes: 0, report_id: 'v' }, viewer), 403), 'forbidden')
  assert.is((await all.bed.request('GET', `/v1/sims/${hash}/usage`, { token: viewer })).status, 200)
  all.ledger.sessions.splice(all.ledger.sessions.indexOf(session), 1)
})

/** A session of the SIM that began so long ago. */
function attached(address: string, agoMs: number): RecordedSession {
  const session: RecordedSession = {
    ...{ id: 1, imsi: hash, apn: 'internet', plmn: '999-99', address, technology: 'lte', cell: null },
    ...{ source: 'mme', startedAtMs: all.clock.nowMs() - agoMs, endedAtMs: null, upBytes: 0, downBytes: 0 },
  }
  all.ledger.sessions.push(session)
  return session
}

reports('believes a node of sessions behind it alone, and no more than a link carries', async () => {
  const node = all.bed.credential({ kind: 'node', id: 'rogue', roles: ['node'] })
  const before = (await all.usage(hash)).total_bytes
  const told = (down_bytes: number, id: string, more: object = {}): Promise<string> =>
    report({ up_bytes: 0, down_bytes, report_id: `rogue-${id.replaceAll(' ', '-')}`, ...more }, node).then(
      (answer) => (answer.status === 200 ? 'counted' : codeOf(answer, 409)),
    )
  assert.is(await told(5, 'no session'), 'usage_implausible')
  const session = attached('10.45.0.7', 9_000)
  assert.is(await told(5, 'elsewhere'), 'usage_implausible')
  all.ledger.behind.set('rogue', '10.45.0.7')
  assert.is(await told(99_000_000_000, 'too much'), 'usage_implausible')
  // 1 Gbit/s for 9 s and a minute of slack, however it is told: in parts, and the latest first.
  assert.is(await told(8_000_000_000, 'late'), 'counted')
  const early = { at: new Date(session.startedAtMs + 1_000).toISOString() }
  assert.is(await told(2_000_000_000, 'early', early), 'usage_implausible')
  assert.is(await told(8_000_000_000, 'late'), 'counted')
  const yesterday = { at: new Date(all.clock.nowMs() - DAY_MS).toISOString() }
  assert.is(await told(5, 'before the session', yesterday), 'usage_implausible')
  assert.is((await all.usage(hash)).total_bytes - before, 8_000_000_000)
  const trail = (await all.bed.audit()).filter(({ action }) => action === 'usage.refuse')
  assert.equal(
    trail.map(({ principal, target }) => [principal.kind, principal.id, target]),
    [['node', 'rogue', hash]],
  )
  const board = all.bed.service(healthBoardRef) as HealthBoard
  await eventually(async () => {
    const seen = (await board.fresh()).find(({ name }) => name.includes('usage_reports'))
    assert.equal([seen?.status, /5 of node rogue/.test(seen?.detail ?? '')], ['degraded', true])
  })
})

reports('refuses what could count twice or has not happened yet', async () => {
  const at = (ms: number): object => ({
    up_bytes: 1,
    down_bytes: 1,
    report_id: 'late',
    at: new Date(all.clock.nowMs() + ms).toISOString(),
  })
  assert.is(codeOf(await report(at(-36 * DAY_MS)), 400), 'validation_failed')
  assert.is(codeOf(await report(at(600_000)), 400), 'validation_failed')
  assert.is(
    codeOf(await report({ up_bytes: 1, down_bytes: 1, report_id: 'x', at: 'noon' }), 400),
    'validation_failed',
  )
  assert.is(codeOf(await report({ up_bytes: -1, down_bytes: 1, report_id: 'x' }), 400), 'validation_failed')
  assert.is(codeOf(await report({ up_bytes: 1, down_bytes: 1, report_id: 'a b' }), 400), 'validation_failed')
  // Who counted is shown to everybody.
  const source = 'imsi-999990000000001'
  assert.is(
    codeOf(await report({ up_bytes: 1, down_bytes: 1, report_id: 'x', source }), 400),
    'validation_failed',
  )
  const path = '/v1/sims/000000000000/usage'
  const body = { up_bytes: 1, down_bytes: 1, report_id: 'x' }
  assert.is(codeOf(await all.bed.request('POST', path, { body }), 404), 'sim_not_found')
})

reports('asks for series that make sense', async () => {
  const status = async (query: string): Promise<number> =>
    (await all.bed.request('GET', `/v1/sims/${hash}/usage?${query}`)).status
  assert.is(await status('step=hour'), 200)
  assert.is(await status('from=2026-06-14T00:00:00Z&to=2026-06-13T00:00:00Z'), 400)
  assert.is(await status('from=2025-06-14T00:00:00Z&step=hour'), 400)
  assert.is(await status('step=minute'), 400)
  assert.is((await all.usage(hash)).series, undefined)
})

reports('counts a thousand that are sent again and again in random order once each', async () => {
  const count = rounds(1_000)
  const sims: ImsiHash[] = []
  for (let sim = 0; sim < SIMS; sim++)
    sims.push(await all.issue(`9999900000001${String(sim).padStart(2, '0')}`, { quota_bytes: 1_000_000_000 }))
  const ids = Array.from({ length: count }, (_, id) => id)
  const again = ids.filter((id) => id % 3 === 0)
  const order = [...ids, ...again, ...again].sort(() => Math.random() - 0.5)
  const refused: unknown[] = []
  const worker = async (): Promise<void> => {
    for (let id = order.pop(); id !== undefined; id = order.pop()) {
      const body = { up_bytes: id, down_bytes: 1, report_id: `r-${id}` }
      const path = `/v1/sims/${sims[id % SIMS]}/usage`
      const { status } = await all.bed.request('POST', path, { body })
      // Busy is not taken: it comes again, like any retry.
      if (status === 429 || status === 503) order.unshift(id)
      else if (status !== 200) refused.push([id, status])
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  assert.equal(refused, [])
  let [upBytes, downBytes] = [0, 0]
  for (const sim of sims) {
    const used = await all.usage(sim)
    assert.is(used.by_source['submission:api']?.up_bytes, used.up_bytes)
    upBytes += used.up_bytes
    downBytes += used.down_bytes
  }
  assert.equal([upBytes, downBytes], [(count * (count - 1)) / 2, count])
})

reports.run()
