import {
  type BoxCalls,
  type OtherBox,
  type Route,
  southboundUnavailable,
  subscribersRef,
} from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import { simSearchRoutes } from '../../src/enroll/sim-search.ts'

/** A root asks its members for a SIM. */
const search = suite('mesh/sim-search')

const HASH = '0123456789ab'
const row = (more: object = {}) => ({
  ...{ imsi_sha256_12: HASH, label: 'harbour', state: 'issued', iccid_last4: '1234', ...more },
})
type Answer = { readonly status: number; readonly body: unknown }

interface Setting {
  readonly boxes?: Readonly<Record<string, (signal: AbortSignal) => Promise<Answer>>>
  /** Of the mesh that this node is a member of. */
  readonly root?: string
  readonly config?: object
}

function setting({ boxes = {}, root, config = { answer_searches: true } }: Setting) {
  const names = Object.keys(boxes)
  const asked: object[] = []
  const audited: object[] = []
  let [now, most] = [0, 0]
  const calls: BoxCalls = {
    others: async () => names.map((name): OtherBox => ({ nodeId: name, name })),
    call: async (nodeId, { body = {} }, signal) => {
      asked.push(body)
      now += 1
      most = Math.max(most, now)
      await Promise.resolve()
      const answer = await (boxes[nodeId] ?? (() => Promise.reject(new Error('nobody'))))(signal)
      now -= 1
      return answer
    },
  }
  const subscribers = {
    search: async (q: string) =>
      q === 'harbour' ? [{ imsi: HASH, label: 'harbour own', state: 'in-use', iccidEnd: undefined }] : [],
  }
  const fake = fakeContext({ id: 'mesh', config, services: new Map([[subscribersRef.id, subscribers]]) })
  const parts = {
    context: fake.context,
    node: { nodeId: 'own', name: 'root' },
    identity: { membership: () => (root === undefined ? undefined : { rootNodeId: root }) },
  }
  const routes = simSearchRoutes(parts as never, calls)
  const send = async (
    path: string,
    body: object,
    principal: object = { kind: 'token', id: 't', name: 't' },
  ) => {
    const route = routes.find((one) => one.path === path) as Route
    const mutate = async (_: string, work: (tx: object) => Promise<object>) =>
      await work({ audit: (what: object) => audited.push(what) })
    const signal = new AbortController().signal
    // biome-ignore lint/suspicious/noExplicitAny: the body is what the route documents
    return ((await route.handle({ body, principal, mutate, signal } as never)) as any).body
  }
  return { send, asked, audited, most: () => most }
}

const FIND = '/v1/mesh/sims/find'

search('shows what all boxes find, and why one has not answered', async () => {
  const { send, asked, audited } = setting({
    boxes: {
      hill: async () => ({ status: 200, body: { sims: [row({ label: 'harbour 2' })] } }),
      old: async () => ({ status: 404, body: {} }),
      shy: async () => ({ status: 403, body: {} }),
      gone: () => Promise.reject(southboundUnavailable('it does not answer: ECONNREFUSED')),
    },
  })
  const { sims, is_more, asked: count, unanswered } = await send(FIND, { q: 'harbour' })
  assert.equal(
    sims.map(({ box, label }: Record<string, string>) => [box, label]),
    [
      ['hill', 'harbour 2'],
      ['root', 'harbour own'],
    ],
  )
  assert.equal([is_more, count, unanswered.length], [false, 5, 3])
  assert.match(JSON.stringify(unanswered), /cannot be searched.*peering\.answer_searches.*ECONNREFUSED/)
  assert.equal(asked[0], { q: 'harbour', limit: 101 })
  assert.equal(audited, [{ detail: { found: 2, asked: 5, unanswered: 3 } }])
  assert.not.match(JSON.stringify(audited), 'harbour')
})

search('believes no form of an answer, and shows no more than it was asked for', async () => {
  const strange = [
    row({ imsi_sha256_12: '001010123456789' }),
    { nothing: true },
    'text',
    row({ label: 'a\u0007bell', state: 7, iccid_last4: '8988211000000123456' }),
  ]
  const { send } = setting({
    boxes: {
      a: async () => ({ status: 200, body: { sims: strange } }),
      b: async () => ({ status: 200, body: 'no record' }),
      c: async () => ({ status: 200, body: { sims: Array.from({ length: 600 }, () => row()) } }),
    },
  })
  const { sims } = await send(FIND, { q: 'x' })
  assert.equal(sims[0], {
    ...{ node_id: 'a', box: 'a', imsi_sha256_12: HASH, label: null, state: 'unknown', iccid_last4: null },
  })
  assert.equal([sims.length, (await send(FIND, { q: 'x', limit: 3 })).is_more], [100, true])
})

search('asks many boxes, some at a time', async () => {
  const names = Array.from({ length: 300 }, (_, index) => `box-${index}`)
  const answer = async (): Promise<Answer> => {
    await new Promise((resolve) => setImmediate(resolve))
    return { status: 200, body: { sims: [row()] } }
  }
  const { send, most } = setting({ boxes: Object.fromEntries(names.map((name) => [name, answer])) })
  assert.is((await send(FIND, { q: 'x', limit: 500 })).sims.length, 300)
  assert.ok(most() > 16 && most() <= 32, `${most()}`)
})

search('is for the root alone, and a box may refuse it', async () => {
  const root = { kind: 'node', id: 'r', name: 'root' }
  const asked = '/v1/mesh/sims/asked'
  const member = setting({ root: 'r' })
  assert.is((await member.send(asked, { q: 'harbour' }, root)).sims.length, 1)
  assert.equal(member.audited, [{ detail: { root: 'root', sims: [HASH] } }])
  assert.is((await member.send(asked, { q: 'nothing' }, root)).sims.length, 0)
  const refused = async (from: ReturnType<typeof setting>, by: object): Promise<string> =>
    await from.send(asked, { q: 'harbour' }, by).then(
      () => 'answered',
      (error: { readonly code: string }) => error.code,
    )
  assert.is(await refused(member, { ...root, id: 'another' }), 'forbidden')
  assert.is(await refused(member, { ...root, kind: 'token' }), 'forbidden')
  assert.is(await refused(setting({}), root), 'forbidden')
  assert.is(await refused(setting({ root: 'r', config: { answer_searches: false } }), root), 'forbidden')
})

search.run()
