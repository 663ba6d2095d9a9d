import {
  coreDriverRef,
  type ImsiHash,
  isServiceError,
  objectSchema,
  type Plugin,
  route,
  type Subscribers,
  subscribersRef,
  systemPrincipal,
  validationFailed,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  driverPlugin,
  eventually,
  type FakeCore,
  type FakeHss,
  fakeCore,
  fakeHss,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'

const suites = suite('sims/subscribers')
let bed: Testbed
let hss: FakeHss
let core: FakeCore
const BY = systemPrincipal('fairuse')
const NEVER = new AbortController().signal

/** A plugin that suspends and resumes in mutations of its own requests; `fails` has the mutation throw at its end. */
function follower(): InlinePlugin {
  const other: Plugin = {
    setup: async (context) => ({
      routes: [
        route<{ id: string }, unknown, { verb: 'suspend' | 'resume'; fails: boolean }>({
          method: 'POST',
          path: '/v1/follow/:id',
          role: 'viewer',
          summary: 'Test',
          audit: 'test.follow',
          schema: {
            params: objectSchema({ id: { type: 'string' } }, ['id']),
            body: objectSchema({ verb: { type: 'string' }, fails: { type: 'boolean' } }, ['verb', 'fails']),
            response: objectSchema({ state: { type: 'string' } }),
          },
          handle: (request) =>
            request.mutate(request.params.id, async (tx) => {
              const service = context.use(subscribersRef)
              const id = request.params.id as ImsiHash
              const { verb, fails } = request.body
              const view =
                verb === 'suspend'
                  ? await service.suspendIn(tx, id, 'quota')
                  : await service.resumeIn(tx, id, 'quota')
              if (fails) throw validationFailed('changed its mind')
              return { body: { state: view.state } }
            }),
        }),
      ],
    }),
  }
  return {
    name: '@example/follower',
    version: '1.0.0',
    plugin: other,
    manifest: {
      id: 'follower',
      kind: 'feature',
      contracts: '*',
      config_path: 'follower',
      requires: [subscribersRef.id],
      handover: 'overlap',
    },
  }
}

suites.before(async () => {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  core = fakeCore()
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', hss),
      driverPlugin('core', core),
      follower(),
    ],
    config: { sims: { attach_interval: '100ms' } },
  })
})
suites.after(() => bed.stop())

const service = (): Subscribers => {
  const found = bed.service(subscribersRef)
  if (found === undefined) throw new Error('sims is not loaded')
  return found
}
const issue = async (body: object = {}): Promise<ImsiHash> => {
  const { first } = bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { body }), 201)
  return first.imsi_sha256_12 as ImsiHash
}
const show = async (hash: string): Promise<SimBody> => bodyOf(await bed.request('GET', `/v1/sims/${hash}`))
/** Waits for the look that notices who comes and goes; a record can ask the core by itself before. */
const looked = (): Promise<void> =>
  eventually(async () => {
    const { body } = await bed.request('GET', '/metrics')
    assert.match(String(body), `svc_sims_phones_attached ${core.attached.size}\n`)
  })

suites('gives a SIM by its hash, and none for a hash that nobody has', async () => {
  const hash = await issue({ quota_bytes: 1_000, apns: ['internet'], profile: 'iot' })
  const found = await service().find(hash)
  assert.equal(
    [found?.state, found?.apns, found?.quotaBytes, found?.profile, found?.plmn, found?.suspendReason],
    ['issued', ['internet'], 1_000, 'iot', '999-99', undefined],
  )
  assert.is(new Date(found?.expiresAtMs ?? 0).toISOString(), (await show(hash)).expires_at)
  assert.not.match(JSON.stringify(found), /99999\d{10}/)
  assert.is(await service().find('000000000000' as ImsiHash), undefined)
})

suites('suspends and resumes for a reason of its own, cut off and let on as by an operator', async () => {
  const hash = await issue({ imsi: '999990000000021' })
  await eventually(async () => assert.is((await show(hash)).provisioning.status, 'synced'))
  core.attached.add('999990000000021' as never)
  await eventually(async () => assert.is((await show(hash)).state, 'in-use'))
  assert.is((await service().suspend(hash, 'quota', BY)).suspendReason, 'quota')
  await eventually(() => assert.not.ok(core.attached.has('999990000000021' as never)))
  assert.is(hss.held.get('999990000000021' as never)?.isBlocked, true)
  // A reason that is not its own lifts nothing.
  assert.is((await service().resume(hash, 'policy', BY)).state, 'suspended')
  assert.is.not((await service().resume(hash, 'quota', BY)).state, 'suspended')
  await eventually(() => assert.is(hss.held.get('999990000000021' as never)?.isBlocked, false))
  const [resumed, unchanged, suspended] = (await bed.audit()).filter(({ target }) => target === hash)
  assert.equal([resumed?.action, resumed?.detail.reason], ['sim.resume', 'quota'])
  assert.is(unchanged?.detail.to, 'suspended')
  assert.is(suspended?.principal.id, 'fairuse')
})

suites('leaves the suspension of an operator to operators, and refuses what is over', async () => {
  const hash = await issue()
  bodyOf(await bed.request('POST', `/v1/sims/${hash}/suspend`))
  assert.is((await service().suspend(hash, 'quota', BY)).suspendReason, 'operator')
  assert.is((await service().resume(hash, 'quota', BY)).state, 'suspended')
  bodyOf(await bed.request('POST', `/v1/sims/${hash}/revoke`))
  for (const verb of ['suspend', 'resume'] as const)
    await service()
      [verb](hash, 'quota', BY)
      .then(
        () => assert.unreachable(),
        (error) => assert.is(isServiceError(error) && error.code, 'sim_state_conflict'),
      )
  await service()
    .resume('000000000000' as ImsiHash, 'quota', BY)
    .then(
      () => assert.unreachable(),
      (error) => assert.is(isServiceError(error) && error.code, 'sim_not_found'),
    )
})

suites("moves a SIM inside another's mutation, and not when that fails", async () => {
  const hash = await issue()
  const ask = (verb: string, fails: boolean): ReturnType<Testbed['request']> =>
    bed.request('POST', `/v1/follow/${hash}`, { body: { verb, fails } })
  const { cursor } = await service().moves(undefined, NEVER)
  assert.is((await ask('suspend', true)).status, 400)
  assert.is((await show(hash)).state, 'issued')
  assert.is(bodyOf<SimBody>(await ask('suspend', false)).state, 'suspended')
  assert.is((await show(hash)).suspend_reason, 'quota')
  assert.is(bodyOf<SimBody>(await ask('resume', false)).state, 'issued')
  const told = await service().moves(cursor, NEVER)
  assert.equal(told.moves, [
    { imsi: hash, from: 'issued', to: 'suspended' },
    { imsi: hash, from: 'suspended', to: 'issued' },
  ])
})

suites('tells each move once, in order, and says when it cannot', async () => {
  const begin = await service().moves(undefined, NEVER)
  assert.equal([begin.moves, begin.isGap], [[], true])
  const waiting = service().moves(begin.cursor, NEVER)
  const hash = await issue()
  const first = await waiting
  assert.equal([first.moves, first.isGap], [[{ imsi: hash, from: undefined, to: 'issued' }], false])
  const abort = new AbortController()
  const idle = service().moves(first.cursor, abort.signal)
  abort.abort(new Error('enough'))
  await idle.then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'enough'),
  )
  assert.is((await service().moves('000000000000.7', NEVER)).isGap, true)
})

suites('counts by state and knows whose phone attached last', async () => {
  const [one, other] = ['999990000000031', '999990000000032'] as const
  const hashes = [await issue({ imsi: one }), await issue({ imsi: other })]
  const inUse = (await service().counts()).get('in-use') ?? 0
  for (const imsi of [one, other, one]) {
    const hash = imsiHash(imsi as never)
    core.attached.delete(imsi as never)
    await eventually(async () => assert.is((await show(hash)).attached, false))
    await looked()
    core.attached.add(imsi as never)
    await eventually(async () => assert.is((await service().lastAttached())?.imsi, hash))
  }
  assert.is((await service().counts()).get('in-use'), inUse + 2)
  assert.is((await show(hashes[1] ?? '')).state, 'in-use')
  assert.ok(bed.service(coreDriverRef))
})

suites.run()
