import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { OPEN_STATES } from '../src/store/code-queries.ts'
import { CALLS, ORDERS } from '../src/store/es2-store.ts'
import { CODES, type CodeRow } from '../src/store/rows.ts'
import { type Es2World, es2World } from './support/es2-world.ts'
import { eidOf } from './support/pki.ts'
import { iccidOf } from './support/world.ts'

const model = suite('esim-smdp/es2-model')

/** One call, and how often it is sent at once. */
interface Step {
  readonly who: 'a' | 'b'
  readonly name: string
  readonly sim: number
  readonly body: object
  readonly times: number
}
/** What an order is thought to be. */
interface Order {
  readonly who: string
  readonly state: 'allocated' | 'confirmed' | 'released'
  readonly matchingId: string | undefined
  readonly eid: string | undefined
}
type Orders = Map<number, Order | 'ended'>

const who = fc.constantFrom('a' as const, 'b' as const)
const sim = fc.integer({ min: 1, max: 3 })
const eid = fc.option(fc.constantFrom(eidOf(1), eidOf(2)), { nil: undefined })
/** A matching id that has to be linked to an EID, and one that need not. */
const WEAK = 'M-1'
const matchingId = fc.option(fc.constantFrom(WEAK, 'M2-7KQ2MXW4RT0ZB8YHJ3VNC6DPL'), { nil: undefined })
const times = fc.constantFrom(1, 1, 3)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ who, sim, times, name: fc.constant('downloadOrder'), body: fc.record({ eid }) }),
  fc.record({
    ...{ who, sim, times, name: fc.constant('confirmOrder') },
    body: fc.record({ eid, matchingId, releaseFlag: fc.boolean() }),
  }),
  fc.record({ who, sim, times, name: fc.constant('releaseProfile'), body: fc.constant({}) }),
  fc.record({
    ...{ who, sim, times, name: fc.constant('cancelOrder') },
    body: fc.record({
      ...{ eid, matchingId },
      finalProfileStatusIndicator: fc.constantFrom('Available', 'Available', 'Unavailable'),
    }),
  }),
)

/** The members of a message, as far as it has them. */
interface Asked {
  readonly eid?: string
  readonly matchingId?: string
  readonly releaseFlag?: boolean
  readonly finalProfileStatusIndicator?: string
}

/** What the standard says to a call, and the order after it. Written without a look at the code under test. */
function expected(orders: Orders, { who: by, name, sim: at, body }: Step): string {
  const order = orders.get(at)
  const asked = body as Asked
  if (order === 'ended') return '8.2.1/3.9'
  if (name === 'downloadOrder') {
    if (order !== undefined) return '8.2.1/3.3'
    orders.set(at, { who: by, state: 'allocated', matchingId: undefined, eid: asked.eid })
    return 'ok'
  }
  if (order === undefined) return name === 'releaseProfile' ? '8.2.1/3.5' : '8.2.1/3.3'
  if (order.who !== by) return '8.2.1/1.2'
  if (name === 'cancelOrder') return cancelled(orders, at, order, asked)
  if (name === 'confirmOrder') return confirmed(orders, at, order, asked)
  if (order.state !== 'confirmed') return '8.2.1/3.5'
  orders.set(at, { ...order, state: 'released' })
  return 'ok'
}

function cancelled(orders: Orders, at: number, order: Order, asked: Asked): string {
  if (asked.eid !== undefined && asked.eid !== order.eid) return '8.1.1/3.10'
  if (asked.matchingId !== undefined && asked.matchingId !== order.matchingId) return '8.2.6/3.10'
  if (asked.finalProfileStatusIndicator === 'Unavailable') orders.set(at, 'ended')
  else orders.delete(at)
  return 'ok'
}

function confirmed(orders: Orders, at: number, order: Order, asked: Asked): string {
  const { eid: wanted, matchingId: id } = asked
  if (order.state !== 'allocated') return '8.2.1/3.3'
  if (wanted !== undefined && order.eid !== undefined && wanted !== order.eid) return '8.1.1/3.10'
  if (id === WEAK && wanted === undefined && order.eid === undefined) return '8.2.6/2.1'
  const ids = [...orders.values()].map((one) => (one === 'ended' ? undefined : one.matchingId))
  if (id !== undefined && ids.includes(id)) return '8.2.6/3.3'
  const state = asked.releaseFlag === true ? 'released' : 'confirmed'
  orders.set(at, { ...order, state, matchingId: id, eid: wanted ?? order.eid })
  return 'ok'
}

async function liveCodes({ all }: Es2World): Promise<readonly CodeRow[]> {
  return (await CODES.select(all.parts.context.db, '')).filter(({ state }) => OPEN_STATES.includes(state))
}

/** What holds whatever was called, in whatever order. */
async function check(world: Es2World): Promise<void> {
  const live = await liveCodes(world)
  assert.is(new Set(live.map(({ hash }) => hash)).size, live.length, 'a SIM in two live orders')
  for (const { token } of live)
    assert.ok((await ORDERS.find(world.all.parts.context.db, { token })) !== undefined, 'whose it is')
}

model('answers as the standard says, one call after another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
      const world = await es2World()
      const orders: Orders = new Map()
      for (const [at, one] of steps.entries()) {
        const body = { iccid: iccidOf(one.sim), ...one.body }
        const want = expected(orders, one)
        const replies = await Promise.all(
          Array.from({ length: one.times }, () => world.call(one.who, one.name, body, `call-${at}`)),
        )
        for (const reply of replies) {
          if (want === 'ok') assert.is(reply.code, 'ok', `${one.name} at ${at}`)
          assert.is(reply.code, want, `${one.name} at ${at}`)
          assert.equal(reply.body, replies[0]?.body, 'the same call has the same answer')
        }
        await check(world)
      }
      const live = await liveCodes(world)
      const wanted = [...orders.values()].flatMap((order) => (order === 'ended' ? [] : [order.state]))
      assert.equal(live.map(({ state }) => state).toSorted(), wanted.toSorted())
      await world.all.close()
    }),
    { numRuns: rounds(60) },
  )
})

model('keeps one order and one matching id for a SIM when all comes at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 5 }), async (batches) => {
      const world = await es2World()
      const told: Told = new Map()
      for (const [at, batch] of batches.entries()) {
        const replies = await Promise.all(
          batch.map((one, i) =>
            world.call(one.who, one.name, { iccid: iccidOf(one.sim), ...one.body }, `call-${at}-${i}`),
          ),
        )
        await check(world)
        await note(world, told, replies)
      }
      for (const [token, ids] of told) assert.is(ids.size, 1, `order ${token} has several matching ids`)
      const executed = (await CALLS.select(world.all.parts.context.db, '')).length
      assert.is(executed, world.all.fake.mutations.length, 'each is remembered')
      await world.all.close()
    }),
    { numRuns: rounds(60) },
  )
})

/** The matching ids that were told of each order. */
type Told = Map<string, Set<string>>

async function note(
  world: Es2World,
  told: Told,
  replies: readonly Awaited<ReturnType<Es2World['call']>>[],
): Promise<void> {
  const live = await liveCodes(world)
  for (const { code, body } of replies) {
    if (code !== 'ok' || body.matchingId === undefined) continue
    const mac = await world.all.parts.lookup.mac(body.matchingId)
    const of = live.find(({ matching_mac }) => Buffer.compare(matching_mac, mac) === 0)
    // It may have been cancelled in the same moment.
    if (of !== undefined) told.set(of.token, (told.get(of.token) ?? new Set()).add(body.matchingId))
  }
}

model('answers whatever comes in the form of the standard', async () => {
  const world = await es2World()
  let calls = 0
  const member = fc.oneof(fc.jsonValue(), fc.string(), fc.constantFrom('', null, true, iccidOf(1), eidOf(1)))
  const names = fc.constantFrom('downloadOrder', 'confirmOrder', 'cancelOrder', 'releaseProfile')
  const body = fc.dictionary(
    fc.constantFrom(
      ...['iccid', 'eid', 'profileType', 'matchingId', 'confirmationCode', 'releaseFlag', '__proto__', 'x'],
      ...['smdsAddress', 'finalProfileStatusIndicator'],
    ),
    member,
  )
  await fc.assert(
    fc.asyncProperty(names, body, fc.string(), async (name, message, callId) => {
      // One caller alone would be told to wait.
      calls += 1
      const { code } = await world.call(`a${Math.floor(calls / 200)}`, name, message, callId)
      assert.match(code, /^(ok|\d(\.\d+)*\/\d\.\d+)$/)
      assert.is.not(code, '8.8/4.2', 'nothing fails')
      await check(world)
    }),
    { numRuns: rounds(1_500) },
  )
  await world.all.close()
})

model.run()
