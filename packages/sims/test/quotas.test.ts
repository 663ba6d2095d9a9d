import {
  type ImsiHash,
  objectSchema,
  type Plugin,
  type QuotaKeeper,
  quotaKeeperRef,
  type Route,
  route,
  type Subscribers,
  type SubscriberView,
  subscribersRef,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  driverPlugin,
  eventually,
  type FakeCore,
  type FakeHss,
  fakeClock,
  fakeCore,
  fakeHss,
  type InlinePlugin,
  letTimePass,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'

const quotas = suite('sims/quotas')
const IMSI = '999990000000051' as never
const HASH = imsiHash(IMSI)

let bed: Testbed
let hss: FakeHss
let core: FakeCore
/** What the keeper beside knows: who is over, who was let go on, what was granted, what is used. */
let over: Set<string>
let freed: Set<string>
let granted: unknown[][]
let stopClock: () => Promise<void>

/** A plugin that caps rates and sets quotas in mutations of its own. */
function changer(): InlinePlugin {
  const body = (properties: Readonly<Record<string, object>>): object =>
    objectSchema(properties as never, Object.keys(properties))
  const change = <Body>(
    path: `/${string}`,
    schema: object,
    work: (service: Subscribers, tx: never, body: Body) => Promise<SubscriberView>,
    use: () => Subscribers,
  ): Route =>
    route<unknown, unknown, Body>({
      method: 'POST',
      path,
      role: 'viewer',
      summary: 'Test',
      audit: 'test.change',
      schema: { body: schema as never, response: { type: 'object' } },
      handle: (request) =>
        request.mutate(HASH, async (tx) => ({ body: await work(use(), tx as never, request.body) })),
    })
  const other: Plugin = {
    setup: async (context) => {
      const use = (): Subscribers => context.use(subscribersRef)
      return {
        routes: [
          change<{ bps: number; reach: 'kick' | 'wait' }>(
            '/v1/change/cap',
            body({ bps: { type: 'integer' }, reach: { type: 'string' } }),
            (service, tx, { bps, reach }) => service.capIn(tx, HASH, bps === 0 ? undefined : bps, reach),
            use,
          ),
          change<{ bytes: number }>(
            '/v1/change/quota',
            body({ bytes: { type: 'integer' } }),
            (service, tx, { bytes }) => service.setQuotaIn(tx, HASH, bytes),
            use,
          ),
          change<{ verb: 'suspend' | 'resume' }>(
            '/v1/change/state',
            body({ verb: { type: 'string' } }),
            (service, tx, { verb }) =>
              verb === 'suspend' ? service.suspendIn(tx, HASH, 'quota') : service.resumeIn(tx, HASH, 'quota'),
            use,
          ),
        ],
      }
    },
  }
  return inline('changer', other, { requires: [subscribersRef.id] })
}

function keeper(): InlinePlugin {
  const service: QuotaKeeper = {
    used: async (imsis) => new Map(imsis.map((imsi) => [imsi, { usedBytes: 77, limitBytes: 1_234 }])),
    granted: async (_tx, imsis, quotaBytes, like) => void granted.push([imsis.length, quotaBytes, like]),
    keepsOff: async (_tx, imsi, isOverride) => {
      if (isOverride) freed.add(imsi)
      return over.has(imsi) && !freed.has(imsi)
    },
  }
  const other: Plugin = { setup: async () => ({ services: new Map([[quotaKeeperRef.id, service]]) }) }
  return inline('keeper', other, { provides: [quotaKeeperRef.id] })
}

function inline(id: string, other: Plugin, more: object): InlinePlugin {
  return {
    name: `@example/${id}`,
    version: '1.0.0',
    plugin: other,
    manifest: {
      id,
      kind: 'feature',
      contracts: '*',
      config_path: id,
      handover: 'overlap',
      ...more,
    },
  }
}

quotas.before(async () => {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  core = fakeCore()
  over = new Set()
  freed = new Set()
  granted = []
  const clock = fakeClock()
  stopClock = letTimePass(clock)
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', hss),
      driverPlugin('core', core),
      changer(),
      keeper(),
    ],
    clock,
    config: { sims: { attach_interval: '100ms' } },
  })
  const body = { imsi: IMSI, ambr: { downlink_bps: 100_000_000, uplink_bps: 200_000 }, quota_bytes: 1_000 }
  bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { body }), 201)
  await eventually(async () => assert.is((await show()).provisioning.status, 'synced'))
})
quotas.after(async () => {
  await bed.stop()
  await stopClock()
})

type Shown = SimBody & Readonly<Record<'usage_bytes' | 'quota_bytes' | 'allowed_bytes', number>>
const show = async (): Promise<Shown> => bodyOf(await bed.request('GET', `/v1/sims/${HASH}`))
const change = async (what: string, body: object): Promise<SubscriberView> =>
  bodyOf(await bed.request('POST', `/v1/change/${what}`, { body }))
/** Waits for the look that notices who comes and goes. */
const looked = (phones: number): Promise<void> =>
  eventually(async () => {
    const { body } = await bed.request('GET', '/metrics')
    assert.match(String(body), `svc_sims_phones_attached ${phones}\n`)
  })
const view = async (): Promise<SubscriberView | undefined> =>
  await bed.service(subscribersRef)?.find(HASH as ImsiHash)

quotas('grants the quota of a new SIM, and of what takes its place', async () => {
  assert.equal(granted, [[1, 1_000, undefined]])
  const { first } = bodyOf<IssueAnswer>(
    await bed.request('POST', '/v1/sims', { body: { quota_bytes: 2_000 } }),
    201,
  )
  bodyOf(await bed.request('POST', '/v1/sims', { body: { replaces: first.imsi_sha256_12 } }), 201)
  assert.equal(granted.slice(1), [
    [1, 2_000, undefined],
    [1, 2_000, first.imsi_sha256_12],
  ])
  bodyOf(await bed.request('POST', '/v1/sims', { body: { count: 2 } }), 201)
  assert.is(granted.length, 3, 'without a quota nothing is granted')
})

quotas("shows what counts against the quota, and follows another plugin's change of it", async () => {
  const { usage_bytes: used, quota_bytes: quota, allowed_bytes: allowed } = await show()
  assert.equal([used, quota, allowed], [77, 1_000, 1_234])
  await change('quota', { bytes: 5_000 })
  assert.is((await show()).quota_bytes, 5_000)
  assert.is((await view())?.quotaBytes, 5_000)
  const all = await bed.service(subscribersRef)?.withQuota('', 10)
  assert.is(all?.length, 2, 'those that are not revoked')
  assert.is(all?.find(({ imsi }) => imsi === HASH)?.quotaBytes, 5_000)
})

quotas('holds a phone to a lower rate, and has it come back with that', async () => {
  core.attached.add(IMSI)
  await eventually(async () => assert.is((await show()).state, 'in-use'))
  assert.is((await change('cap', { bps: 256_000, reach: 'kick' })).rates, 'pending')
  await eventually(() => assert.equal(hss.held.get(IMSI)?.ambrBps, { up: 200_000, down: 256_000 }))
  await eventually(() => assert.not.ok(core.attached.has(IMSI)))
  await eventually(async () =>
    assert.equal([(await view())?.rates, (await view())?.capBps], ['in_force', 256_000]),
  )
  assert.is(hss.held.get(IMSI)?.isBlocked, false)
})

quotas('leaves a session its rates until it ends by itself where that is asked for', async () => {
  // The phone has to be seen to come before the rates change: what comes later takes them.
  await looked(0)
  core.attached.add(IMSI)
  await looked(1)
  await change('cap', { bps: 0, reach: 'wait' })
  await eventually(() => assert.equal(hss.held.get(IMSI)?.ambrBps, { up: 200_000, down: 100_000_000 }))
  await eventually(async () => assert.is((await view())?.rates, 'next_session'))
  assert.ok(core.attached.has(IMSI))
  core.attached.delete(IMSI)
  await eventually(async () => assert.is((await view())?.rates, 'in_force'))
})

quotas('lets nobody on whom a quota keeps off but by override', async () => {
  over.add(HASH)
  await change('state', { verb: 'suspend' })
  const resume = (body?: object): ReturnType<Testbed['request']> =>
    bed.request('POST', `/v1/sims/${HASH}/resume`, { body })
  assert.is(codeOf(await resume(), 409), 'sim_state_conflict')
  assert.is(bodyOf<SimBody>(await resume({ override: true })).state, 'in-use')
  assert.ok(freed.has(HASH))
  freed.clear()
  // The keeper itself is not asked, and who was suspended by an operator is an operator's to let on.
  await change('state', { verb: 'suspend' })
  assert.is((await change('state', { verb: 'resume' })).state, 'in-use')
  bodyOf(await bed.request('POST', `/v1/sims/${HASH}/suspend`))
  assert.is(bodyOf<SimBody>(await resume()).state, 'in-use')
})

quotas.run()
