import { nodeCaRef, southboundUnavailable } from '@steeple/contracts'
import { assert, bodyOf, suite } from '@steeple/testkit'
import { newsFrom } from '../../src/agent/answers.ts'
import { rootClient } from '../../src/agent/box-calls.ts'
import type { MeshAnswer, MeshCall, MeshClient } from '../../src/agent/mesh-client.ts'
import { type MemberBed, memberBed } from '../support/member-bed.ts'
import { type RootBed, rootBed } from '../support/root-bed.ts'

/** A box is made, and another joins it. */
const LIMIT = { limitMs: 360_000 }
const JOINED = 'https://192.0.2.1:8443'
const MOVED = 'https://192.0.2.101:8443'
const OVERLAY = 'https://100.64.0.1:8443'
const MOST_TRIES = 9
const asking = suite('mesh/root-call')
let root: RootBed
let one: MemberBed
asking.before(async () => {
  root = await rootBed({ name: 'valley' })
}, LIMIT)
asking.before.each(async () => {
  one = await memberBed(root)
  await one.identity.adopt({ ...membershipOf(one), rootUrl: JOINED })
  const { status, body } = await root.bed.request('GET', '/v1/mesh/members')
  await one.parts.membershipState.takeView(newsFrom({ status, body }).view)
}, LIMIT)
asking.after.each(() => one.close())
asking.after(() => root.close())

function membershipOf({ identity }: MemberBed) {
  const membership = identity.membership()
  if (membership === undefined) throw new Error('it is no member')
  return membership
}

/** The root answers at `at.url` alone. */
function world(
  at: { url: string },
  answer: (call: MeshCall) => MeshAnswer = () => ({ status: 200, body: {} }),
) {
  const asked: string[] = []
  const client: MeshClient = {
    call: async (call) => {
      asked.push(call.url)
      assert.is(call.nodeId, root.bed.identity.nodeId, 'whoever answers must be the root')
      if (call.url !== at.url) throw southboundUnavailable(`${call.url} does not answer`)
      return answer(call)
    },
    close: () => {},
  }
  const made = rootClient(one.parts, client)
  const ask = async (more?: object): Promise<boolean> => {
    const { signal } = new AbortController()
    const call = { method: 'POST', path: '/v1/telemetry', body: { seq: 1 }, signal } as const
    return await made.call(membershipOf(one), { ...call, ...(more && { more }) }).then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  /** How many questions it takes until one is answered. */
  const until = async (): Promise<number> => {
    for (let tries = 1; tries < MOST_TRIES; tries += 1) if (await ask()) return tries
    return Number.POSITIVE_INFINITY
  }
  return { asked, ask, until }
}

/** What any member may pass on: signed by the CA. */
async function announce(later: number, url: string): Promise<void> {
  const answer = await root.bed.request('GET', '/v1/mesh/crl', { token: false })
  const { number } = bodyOf<{ readonly number: number }>(answer)
  const validity = { number: number + later, thisUpdateMs: 0, nextUpdateMs: 1, url }
  const pem = await root.bed.service(nodeCaRef)?.signRevocations([], validity)
  assert.is(await one.parts.membershipState.takeList(pem ?? ''), true)
}

asking('finds a root that has moved through the overlay, and stays there', async () => {
  const at = { url: JOINED }
  const { until, asked } = world(at)
  assert.is(await until(), 1)
  at.url = OVERLAY
  assert.is(await until(), 2)
  assert.is(await until(), 1)
  assert.equal(asked, [JOINED, JOINED, OVERLAY, OVERLAY])
  at.url = JOINED
  assert.is(await until(), 2, 'and back')
})

asking('believes what the root has announced, and keeps it once the root has answered there', async () => {
  const { until } = world({ url: MOVED })
  assert.is(await until(), Number.POSITIVE_INFINITY)
  await announce(1, MOVED)
  assert.is(membershipOf(one).rootUrl, JOINED, 'a word is no answer')
  assert.is(await until(), 1)
  assert.is(membershipOf(one).rootUrl, MOVED)
  // A guess of the root may be wrong: the others are asked still.
  await announce(2, 'https://198.51.100.7:8443')
  assert.is(await until(), 2)
  assert.is(membershipOf(one).rootUrl, MOVED)
})

asking('leaves out what a root of an earlier version does not know', async () => {
  const bodies: (object | undefined)[] = []
  const { ask } = world({ url: JOINED }, ({ body }) => {
    bodies.push(body)
    const isKnown = Object.keys(body ?? {}).join() === 'seq'
    return isKnown
      ? { status: 200, body: {} }
      : { status: 400, body: { error: { code: 'validation_failed' } } }
  })
  assert.is(await ask({ node: {} }), true)
  assert.equal(bodies, [{ seq: 1, node: {} }, { seq: 1 }])
})

asking(
  'tries what a root of an earlier version may still know, and a query without what it does not',
  async () => {
    const tried: unknown[] = []
    const known = new Set(['/v1/telemetry seq,node.a', '/v1/mesh/members?after=1'])
    const client: MeshClient = {
      call: async ({ path, body }) => {
        const told = Object.entries(body ?? {}).map(([name, value]) =>
          [name, ...Object.keys(Object(value))].join('.'),
        )
        const what = [path, told.join()].join(' ').trim()
        tried.push(what)
        return known.has(what)
          ? { status: 200, body: {} }
          : { status: 400, body: { error: { code: 'validation_failed' } } }
      },
      close: () => {},
    }
    const { call } = rootClient(one.parts, client)
    const { signal } = new AbortController()
    const more = [{ node: { a: 1, b: 2 } }, { node: { a: 1 } }]
    await call(membershipOf(one), { method: 'POST', path: '/v1/telemetry', body: { seq: 1 }, more, signal })
    const path = '/v1/mesh/members?after=1'
    await call(membershipOf(one), { method: 'GET', path, moreQuery: '&list=x', signal })
    assert.equal(tried, [
      '/v1/telemetry seq,node.a.b',
      '/v1/telemetry seq,node.a',
      '/v1/mesh/members?after=1&list=x',
      '/v1/mesh/members?after=1',
    ])
  },
)

asking.run()
