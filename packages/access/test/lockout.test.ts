import { isServiceError, networkOf } from '@steeple/contracts'
import { assert, type FakeClock, fakeClock, type MemoryDb, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type Attempt, createLockout, type Lockout } from '../src/people/lockout.ts'
import { tokenDb } from './helpers.ts'
import { testKeys } from './people-helpers.ts'

const lockout = suite('access/lockout')
const MINUTE_MS = 60_000

function world(): { readonly db: MemoryDb; readonly clock: FakeClock; readonly lock: Lockout } {
  const db = tokenDb()
  const clock = fakeClock(1_000_000_000)
  return { db, clock, lock: createLockout({ db, clock }, testKeys()) }
}

const of = (name: string, network: string, userId?: string): Attempt => ({ name, network, userId })

/** `ok`, or after how many seconds another try may succeed. */
async function tried(lock: Lockout, attempt: Attempt): Promise<string | number> {
  return lock.begin(attempt).then(
    ({ locks }) => locks ?? 'ok',
    (error: unknown) => (isServiceError(error) ? (error.retryAfterS ?? error.code) : String(error)),
  )
}

async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<unknown[]> {
  const results: unknown[] = []
  for (let index = 0; index < times; index += 1) results.push(await work(index))
  return results
}

lockout(
  'locks a network at its fifth failure, whatever the names, for 15 minutes from the last',
  async () => {
    const { clock, lock } = world()
    const results = await repeat(5, async (index) => {
      await clock.advance(MINUTE_MS)
      return tried(lock, of(`name ${index}`, 'here'))
    })
    assert.equal(results, ['ok', 'ok', 'ok', 'ok', 'network'])
    assert.is(await tried(lock, of('another', 'here')), 900)
    assert.is(await tried(lock, of('another', 'elsewhere')), 'ok')
    await clock.advance(5 * MINUTE_MS)
    assert.is(await tried(lock, of('another', 'here')), 600)
  },
)

lockout('does not count what it refuses: the lock ends, however much is tried meanwhile', async () => {
  const { clock, lock } = world()
  await repeat(5, () => tried(lock, of('ada', 'here')))
  for (let minute = 0; minute < 15; minute += 1) {
    assert.ok(typeof (await tried(lock, of('ada', 'here'))) === 'number')
    await clock.advance(MINUTE_MS)
  }
  assert.is(await tried(lock, of('ada', 'here')), 'ok')
})

lockout('locks a name for strangers, and not where its user has logged in before', async () => {
  const { db, clock, lock } = world()
  const home = of('ada', 'home', 'id of ada')
  await db.write((tx) => lock.succeeded(tx, home, clock.nowMs()))
  const results = await repeat(5, (index) => tried(lock, of('Ada', `net ${index}`, 'id of ada')))
  assert.equal(results, ['ok', 'ok', 'ok', 'ok', 'name'])
  assert.is(await tried(lock, of('ada', 'net 9', 'id of ada')), 900)
  assert.is(await tried(lock, of('eve', 'net 9')), 'ok')
  assert.is(await tried(lock, home), 'ok')
})

lockout(
  'locks a network for strangers, and not for its users, each of whom has tries of his own',
  async () => {
    const { db, clock, lock } = world()
    const ada = of('ada', 'home', 'id of ada')
    const eve = of('eve', 'home', 'id of eve')
    for (const known of [ada, eve]) await db.write((tx) => lock.succeeded(tx, known, clock.nowMs()))
    const guest = await repeat(5, (index) => tried(lock, of(`guest ${index}`, 'home')))
    assert.is(guest.at(-1), 'network')
    assert.is(await tried(lock, of('mallory', 'home')), 900)
    assert.equal(await repeat(6, () => tried(lock, ada)), ['ok', 'ok', 'ok', 'ok', 'name', 900])
    assert.is(await tried(lock, eve), 'ok')
    assert.is(await tried(lock, of('ada', 'elsewhere', 'id of ada')), 900)
  },
)

lockout('keeps nobody out for good who fails in the name for ever', async () => {
  const { db, clock, lock } = world()
  const home = of('ada', 'home', 'id of ada')
  await db.write((tx) => lock.succeeded(tx, home, clock.nowMs()))
  for (let hour = 0; hour < 24; hour += 1) {
    await repeat(10, (index) => tried(lock, of('ada', `net ${hour}.${index}`, 'id of ada')))
    await lock.refuse(home)
    await clock.advance(60 * MINUTE_MS)
  }
})

lockout('gives no tries at another name for a login of oneself', async () => {
  const { db, clock, lock } = world()
  await repeat(4, () => tried(lock, of('victim', 'here')))
  await db.write((tx) => lock.succeeded(tx, of('mallory', 'here', 'm'), clock.nowMs()))
  assert.equal(await repeat(2, () => tried(lock, of('victim', 'here'))), ['network', 900])
})

lockout('forgets the failures of a name where it has logged in', async () => {
  const { db, clock, lock } = world()
  for (let round = 0; round < 3; round += 1) {
    assert.equal(await repeat(4, () => tried(lock, of('ada', 'here', 'a'))), ['ok', 'ok', 'ok', 'ok'])
    await db.write((tx) => lock.succeeded(tx, of('ada', 'here', 'a'), clock.nowMs()))
  }
})

lockout('lets five in of a hundred at the same time', async () => {
  const { lock } = world()
  const results = await Promise.all(Array.from({ length: 100 }, () => tried(lock, of('ada', 'here'))))
  assert.is(results.filter((result) => typeof result === 'string').length, 5)
})

lockout('stores no name, and sweeps what counts no more', async () => {
  const { db, clock, lock } = world()
  await tried(lock, of('my-password-by-mistake', 'here'))
  assert.not.ok(JSON.stringify(await db.all('select * from access_login_failure')).includes('my-password'))
  await clock.advance(15 * MINUTE_MS)
  await lock.sweep()
  assert.equal(await db.all('select * from access_login_failure'), [])
})

lockout('takes the /64 of an IPv6 address for one network, in every spelling', () => {
  assert.equal(
    [
      '203.0.113.9',
      '::ffff:203.0.113.9',
      '::1',
      'fe80::1%eth0',
      '2001:db8::1',
      '2001:0DB8:0:0:ffff::',
      '::ffff:102:304',
      '::1.2.3.4',
      'fe80::1%',
      'no address',
      '',
    ].map(networkOf),
    [
      '203.0.113.9',
      '203.0.113.9',
      '0:0:0:0::/64',
      'fe80:0:0:0::/64',
      '2001:db8:0:0::/64',
      '2001:db8:0:0::/64',
      '1.2.3.4',
      '0:0:0:0::/64',
      'fe80:0:0:0::/64',
      'no address',
      '',
    ],
  )
  const group = fc.integer({ min: 0, max: 65_535 }).map((value) => value.toString(16))
  const half = fc.array(group, { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(half, half, half, (network, host, other) => {
      fc.pre(network.some((part) => part !== '0'))
      const [one, two] = [host, other].map((end) => networkOf([...network, ...end].join(':')))
      assert.is(one, `${network.join(':')}::/64`)
      assert.is(two, one)
    }),
  )
})

lockout.run()
