import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { nodeCredentialsRef, policyHistoryRef, policyRef, type TxInterval } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { type ComplianceParts, complianceCount } from '../src/parts.ts'
import { prune } from '../src/retention.ts'
import { addMoves, CHECKPOINTS, type CheckpointRow, MOVES, type MoveRow } from '../src/store.ts'

const test = suite('retention of the record')

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 10, 22)
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const INTERVAL: TxInterval = {
  id: 'x',
  profileId: 'hill',
  profile: { technology: 'lte', channel: 1300, bandwidth_mhz: 10 },
  country: 'DE',
  licenseReference: null,
  licenseHolder: null,
  startedAtMs: 1,
  startedBy: 'user:ann',
  endedAtMs: 2,
  endedBy: 'user:ann',
  endReason: 'disarmed',
}

function partsWith(doubt: string | undefined): ComplianceParts {
  const clock = { ...fakeClock(NOW_MS), doubt: () => doubt }
  let intervals: readonly TxInterval[] = [INTERVAL]
  const history = {
    takeIntervals: async (_tx: unknown, endedBeforeMs: number) => {
      const taken = intervals.filter(({ endedAtMs }) => (endedAtMs ?? endedBeforeMs) < endedBeforeMs)
      intervals = []
      return taken
    },
  }
  const services = new Map<string, object>([
    [policyRef.id, { bundle: () => ({ retention_days: { audit: 30 } }) }],
    [policyHistoryRef.id, history],
    [nodeCredentialsRef.id, { sign: (octets: Uint8Array) => sign('sha256', octets, privateKey) }],
  ])
  const db = memoryDb(MIGRATIONS)
  const { context } = fakeContext({ id: 'compliance', config: {}, db, clock, services })
  return { context, count: complianceCount(context.metrics) }
}

function move(ageDays: number): Omit<MoveRow, 'seq'> {
  const at_ms = NOW_MS - ageDays * DAY_MS
  return {
    at_ms,
    kind: 'sim',
    subject: 'aaaaaaaaaaaa',
    from_state: null,
    to_state: 'issued',
    reason: null,
    how: 'move',
  }
}

function isSigned({
  kind,
  at_ms,
  before_ms,
  first_id,
  last_id,
  removed,
  sha256,
  signature,
}: CheckpointRow): boolean {
  const [at, before] = [at_ms, before_ms].map((ms) => new Date(ms).toISOString())
  const said = JSON.stringify({ kind, at, before, first_id, last_id, removed, sha256 })
  const octets = Buffer.from(`svc compliance checkpoint\n${said}`)
  return verify('sha256', octets, publicKey, Buffer.from(signature, 'base64'))
}

test('what is older than the policy keeps goes, and a signed checkpoint stays in its place', async () => {
  const parts = partsWith(undefined)
  const { db } = parts.context
  await db.write((tx) => addMoves(tx, [move(50), move(31), move(29), move(0)]))
  const old = await MOVES.select(db, 'where seq <= 2 order by seq')
  await prune(parts, new AbortController().signal)
  assert.equal(
    (await MOVES.select(db, 'order by seq')).map(({ seq }) => seq),
    [3, 4],
  )
  const left = await CHECKPOINTS.select(db, 'order by id')
  assert.equal(
    left.map(({ kind, first_id, last_id, removed }) => [kind, first_id, last_id, removed]),
    [
      ['move', '1', '2', 2],
      ['tx', 'x', 'x', 1],
    ],
  )
  assert.ok(left.every(isSigned))
  const sum = createHash('sha256')
  for (const row of old) sum.update(`${JSON.stringify(row)}\n`)
  assert.is(left[0]?.sha256, sum.digest('hex'))
  await prune(parts, new AbortController().signal)
  assert.is((await CHECKPOINTS.select(db, 'order by id')).length, 2, 'nothing was left to remove')
})

test('nothing goes while the clock is not believed', async () => {
  const parts = partsWith('it leapt')
  const { db } = parts.context
  await db.write((tx) => addMoves(tx, [move(50), move(0)]))
  await prune(parts, new AbortController().signal)
  assert.is((await MOVES.select(db, 'order by seq')).length, 2)
  assert.equal(await CHECKPOINTS.select(db, 'order by id'), [])
})

test.run()
