import { assert, suite } from '@steeple/testkit'
import {
  type AskBulk,
  type BulkAnswer,
  changedOf,
  lookAhead,
  meantBy,
  oppositeOf,
  resultsCsv,
  runBulk,
} from '../src/pages/sims/bulk-run.ts'

/** Many SIMs are changed part by part: what is done stays done, and nothing is done twice. */
const bulk = suite('console/bulk')

const HOW = { count: 2_500, isAway: false }
const hash = (n: number): string => n.toString(16).padStart(12, '0')
type Body = Parameters<AskBulk>[0]

/** A service with so many SIMs, the first of which is revoked; it refuses the request of that number. */
function serviceOf(sims: number, refusesAt = -1) {
  const asked: { readonly body: Body; readonly wait: string | undefined }[] = []
  const ask: AskBulk = async (body, wait) => {
    asked.push({ body, wait })
    if (asked.length === refusesAt)
      return { ok: false, error: { code: 'rate_limited', message: 'wait' } } as Awaited<ReturnType<AskBulk>>
    const all = body.ids ?? Array.from({ length: sims }, (_, n) => hash(n))
    const open = all.filter((one) => one > (body.after ?? ''))
    const part = open.slice(0, body.limit ?? open.length)
    const results = part.map((one) => ({
      imsi_sha256_12: one,
      status: one === hash(0) ? 'error' : 'changed',
      state: one === hash(0) ? null : 'suspended',
      error: one === hash(0) ? { code: 'sim_state_conflict', message: 'it is "revoked", for good' } : null,
    }))
    const next = part.length < open.length ? (part.at(-1) ?? null) : null
    const none = { matched: part.length, changed: 0, unchanged: 0, failed: 0, kinds: [] }
    const data = {
      ...none,
      results,
      next,
      attached: 3,
      detached: wait === undefined ? null : 2,
    } as BulkAnswer
    return { ok: true, data } as Awaited<ReturnType<AskBulk>>
  }
  return { asked, ask }
}

bulk('changes all of a filter in parts, each behind the one before, and tells how far it is', async () => {
  const { ask, asked } = serviceOf(2_500)
  const told: number[] = []
  const change = { action: 'suspend', reason: 'lost' } as const
  const end = await runBulk(ask, change, meantBy({ state: 'in-use' }), HOW, (now) =>
    told.push(now.results.length),
  )
  assert.is(end.left, undefined)
  assert.equal(told, [1_000, 2_000, 2_500, 2_500])
  assert.is(new Set(end.results.map((row) => row.imsi_sha256_12)).size, 2_500)
  assert.is(changedOf(end).length, 2_499)
  for (const { body, wait } of asked) {
    assert.equal([body.filter, body.limit, wait], [{ state: 'in-use' }, 1_000, undefined])
    assert.equal([body.action, body.reason, body.ids], ['suspend', 'lost', undefined])
  }
  assert.equal(
    asked.map(({ body }) => body.after),
    [undefined, hash(999), hash(1_999)],
  )
})

bulk('goes on where it was refused, with the rest alone', async () => {
  const broken = serviceOf(2_500, 2)
  const first = await runBulk(broken.ask, { action: 'resume' }, meantBy({ q: 'pier' }), HOW)
  assert.equal([first.error?.code, first.results.length], ['rate_limited', 1_000])
  const ids = Array.from({ length: 2_500 }, (_, n) => hash(n))
  for (const meant of [
    first.left,
    (await runBulk(serviceOf(0, 2).ask, { action: 'resume' }, { ids }, HOW)).left,
  ]) {
    if (meant === undefined) throw new Error('nothing was left')
    const rest = await runBulk(serviceOf(2_500).ask, { action: 'resume' }, meant, HOW)
    assert.equal([rest.error, rest.left, rest.results.length], [undefined, undefined, 1_500])
    assert.is(rest.results[0]?.imsi_sha256_12, hash(1_000))
  }
})

bulk('waits for phones to be off where one request is all, and somebody can be reached', async () => {
  const waits = async (action: 'suspend' | 'extend', count: number, isAway: boolean) => {
    const { ask, asked } = serviceOf(count)
    const end = await runBulk(
      ask,
      { action },
      { ids: Array.from({ length: count }, (_, n) => hash(n)) },
      { count, isAway },
    )
    return [asked[0]?.wait, end.cut === undefined ? undefined : [end.cut.on, end.cut.off]]
  }
  assert.equal(await waits('suspend', 3, false), ['5s', [3, 2]])
  assert.equal(await waits('suspend', 1, false), [undefined, undefined])
  assert.equal(await waits('suspend', 3, true), [undefined, undefined])
  assert.equal(await waits('extend', 3, false), [undefined, undefined])
})

bulk('looks ahead at all that is meant, and means all where nothing narrows the list', async () => {
  const { ask, asked } = serviceOf(3)
  await lookAhead(ask, { action: 'revoke' }, meantBy({}))
  const [{ body } = { body: {} as Body }] = asked
  assert.equal([body.dry_run, body.limit, body.action], [true, undefined, 'revoke'])
  assert.equal(body.filter, { expires_after: '1970-01-01T00:00:00Z' })
  assert.equal([oppositeOf('suspend'), oppositeOf('resume')], ['resume', 'suspend'])
  for (const action of ['revoke', 'label', 'extend'] as const) assert.is(oppositeOf(action), undefined)
})

bulk('saves a row for each SIM, with no formula of a spreadsheet in it', async () => {
  const { results } = await runBulk(serviceOf(2).ask, { action: 'suspend' }, { ids: [hash(0), hash(1)] }, HOW)
  assert.equal(resultsCsv(results, new Map([[hash(1), '=1+1, "pier"']])).split('\r\n'), [
    'imsi_sha256_12,label,status,state,error,message',
    `${hash(0)},,error,,sim_state_conflict,"it is ""revoked"", for good"`,
    `${hash(1)},"'=1+1, ""pier""",changed,suspended,,`,
    '',
  ])
})

bulk.run()
