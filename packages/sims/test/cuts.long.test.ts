import { healthBoardRef, type Imsi } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  driverPlugin,
  eventually,
  type FakeCore,
  type FakeHss,
  fakeClock,
  fakeCore,
  fakeHss,
  letTimePass,
  loadTestbed,
  pluginFrom,
  rounds,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'

const cuts = suite('sims/cuts')
/** For hundreds of SIMs, also beside a core that takes 5 s not to answer: a busy machine only takes longer. */
const MANY_MS = 240_000
let bed: Testbed
let hss: FakeHss
let core: FakeCore

function scene(sentence: string, body: () => Promise<void>): void {
  cuts(sentence, async () => {
    const { startTestbed } = await loadTestbed()
    hss = fakeHss()
    core = fakeCore()
    const clock = fakeClock()
    const stopClock = letTimePass(clock)
    bed = await startTestbed({
      plugins: [
        await pluginFrom(import.meta.url, plugin),
        driverPlugin('hss', hss),
        driverPlugin('core', core),
      ],
      clock,
      config: { sims: { attach_interval: '100ms' } },
    })
    try {
      await body()
    } finally {
      await bed.stop()
      await stopClock()
    }
  })
}

const IMSI = '999990000000001' as Imsi
const HASH = imsiHash(IMSI)
const show = async (hash: string = HASH): Promise<SimBody> =>
  bodyOf(await bed.request('GET', `/v1/sims/${hash}`))
const move = async (verb: string, query = ''): Promise<SimBody> =>
  bodyOf(await bed.request('POST', `/v1/sims/${HASH}/${verb}${query}`))
const issueOne = async (): Promise<void> => {
  bodyOf(await bed.request('POST', '/v1/sims', { body: { imsi: IMSI } }), 201)
  await eventually(async () => assert.is((await show()).provisioning.status, 'synced'))
}
const kicksHealth = (): string | undefined =>
  bed
    .service(healthBoardRef)
    ?.components()
    .find(({ name }) => name.endsWith('kicks'))?.detail

scene('blocks, kicks until the session is gone, and only then removes', async () => {
  await issueOne()
  core.attached.add(IMSI)
  const kick = core.kick
  core.kick = async (imsi, signal) => {
    const how = await kick(imsi, signal)
    hss.calls.push(`kick ${how}`)
    return how
  }
  core.pendingKicks = 2
  hss.calls.length = 0
  await move('revoke', '?wait=5s')
  await eventually(() => assert.not.ok(hss.held.has(IMSI)))
  // A comparison may come at any time, and only looks.
  const calls = hss.calls.filter((call) => !call.startsWith('observe'))
  assert.equal(calls.slice(0, 4), ['setBlocked 1', 'kick pending', 'kick pending', 'kick yes'])
  assert.is(calls.indexOf('remove 1') > 3, true)
  // Waiting for the core writes nothing to the HSS.
  assert.is(calls.filter((call) => call === 'setBlocked 1').length, 1)
})

scene('keeps kicking when the core was away, and says so meanwhile', async () => {
  await issueOne()
  core.attached.add(IMSI)
  await eventually(async () => assert.is((await show()).state, 'in-use'))
  const kick = core.kick
  let asked = 0
  core.kick = () => {
    asked += 1
    return Promise.reject(new Error('connect ECONNREFUSED'))
  }
  const suspended = await move('suspend', '?wait=1s')
  assert.equal([suspended.detached, suspended.provisioning.status], ['pending', 'pending'])
  await eventually(async () => {
    const { last_error } = (await show()).provisioning
    assert.match(last_error ?? '', /did not say whether the session is gone/)
  })
  assert.is(hss.held.get(IMSI)?.isBlocked, true)
  assert.ok(asked > 0)
  core.kick = kick
  await eventually(() => assert.not.ok(core.attached.has(IMSI)))
  await eventually(async () => assert.is((await show()).provisioning.status, 'synced'))
})

scene('leaves a core that hangs alone while it blocks all others', async () => {
  const { sims } = bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { body: { count: 300 } }), 201)
  await eventually(() => assert.is(hss.held.size, 300))
  core.kick = () => new Promise(() => undefined)
  const ids = sims.map((sim) => sim.imsi_sha256_12)
  bodyOf(await bed.request('POST', '/v1/sims/bulk', { body: { action: 'suspend', ids } }))
  await eventually(
    () =>
      assert.is(
        [...hss.held.values()].every(({ isBlocked }) => isBlocked),
        true,
      ),
    MANY_MS,
  )
  await eventually(() => assert.match(kicksHealth() ?? '', /takes no kicks: the core did not answer/))
})

scene('says how many of many were on, and how many of these are off in time', async () => {
  const { sims } = bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { body: { count: 7 } }), 201)
  await eventually(() => assert.is(hss.held.size, 7))
  const bulk = async (action: string, query = ''): Promise<Readonly<Record<string, unknown>>> => {
    const body = { action, ids: sims.map((sim) => sim.imsi_sha256_12) }
    const { results, next, kinds, ...sums } = bodyOf<
      Record<string, unknown> & { results: readonly object[] }
    >(await bed.request('POST', `/v1/sims/bulk${query}`, { body }))
    assert.equal([results.length, next, kinds], [7, null, []])
    return sums
  }
  const areOn = async (count: number): Promise<void> =>
    eventually(async () => {
      const { body } = await bed.request('GET', '/v1/sims?attached=true')
      assert.is((body as { readonly sims: readonly object[] }).sims.length, count)
    })
  const comeOn = async (count: number): Promise<void> => {
    for (const imsi of [...hss.held.keys()].slice(0, count)) core.attached.add(imsi)
    await areOn(count)
  }
  await comeOn(5)
  const all = { matched: 7, changed: 7, unchanged: 0, failed: 0 }
  assert.equal(await bulk('suspend', '?wait=30s'), { ...all, attached: 5, detached: 5 })
  assert.is(core.attached.size, 0)
  await areOn(0)
  assert.equal(await bulk('suspend', '?wait=30s'), {
    matched: 7,
    changed: 0,
    unchanged: 7,
    failed: 0,
    attached: 0,
    detached: 0,
  })
  assert.equal(await bulk('resume', '?wait=30s'), { ...all, attached: 0, detached: 0 })
  await comeOn(2)
  core.kick = () => new Promise(() => undefined)
  assert.equal(await bulk('suspend', '?wait=10ms'), { ...all, attached: 2, detached: 0 })
  assert.is((await bed.request('POST', '/v1/sims/bulk?wait=31s', { body: {} })).status, 400)
})

scene('takes a thousand phones on and off, a few kicks at a time', async () => {
  const count = rounds(1_000)
  const key = '465b5ce8b199b49faa5f0a2ee238a6bc'
  const rows = Array.from(
    { length: count },
    (_, n) => `99999${String(n).padStart(10, '0')},${key},${key},all`,
  )
  const body = `imsi,ki,opc,label\n${rows.join('\n')}\n`
  const headers = { 'content-type': 'text/csv' }
  bodyOf(await bed.request('POST', '/v1/sims/import', { headers, body }))
  await eventually(() => assert.is(hss.held.size, count))
  for (const imsi of hss.held.keys()) core.attached.add(imsi)
  const metrics = async (): Promise<string> => String((await bed.request('GET', '/metrics')).body)
  await eventually(
    async () => assert.match(await metrics(), `svc_sim_state{state="in-use"} ${count}\n`),
    MANY_MS,
  )
  assert.match(await metrics(), `svc_attach_total{plmn="999-99"} ${count}\n`)
  const kick = core.kick
  let abreast = 0
  let most = 0
  core.kick = async (imsi, signal) => {
    abreast += 1
    most = Math.max(most, abreast)
    await new Promise((resolve) => setTimeout(resolve, 2))
    abreast -= 1
    return await kick(imsi, signal)
  }
  bodyOf(
    await bed.request('POST', '/v1/sims/bulk', { body: { action: 'suspend', filter: { label: 'all' } } }),
  )
  await eventually(() => assert.is(core.attached.size, 0), MANY_MS)
  assert.ok(most <= 8, `${most} kicks at a time`)
  assert.is([...hss.held.values()].filter(({ isBlocked }) => !isBlocked).length, 0)
  assert.match(await metrics(), `svc_sim_state{state="suspended"} ${count}\n`)
})

cuts('waits for nothing where the service only looks, and says that nobody is cut off', async () => {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  core = fakeCore()
  const clock = fakeClock()
  const stopClock = letTimePass(clock)
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', hss),
      driverPlugin('core', core),
    ],
    clock,
    settings: { hss: { driver: 'none' }, southbound: { driver: 'none' } },
  })
  try {
    await issueOne()
    core.attached.add(IMSI)
    await move('suspend')
    await eventually(async () => assert.is((await show()).provisioning.status, 'synced'))
    assert.is((await show()).provisioning.last_error, null)
    const kicks = bed
      .service(healthBoardRef)
      ?.components()
      .find(({ name }) => name.endsWith('kicks'))
    assert.is(kicks?.status, 'ok')
    assert.match(kicks?.detail ?? '', /none: nobody is cut off/)
    assert.ok(core.attached.has(IMSI))
    assert.is(hss.held.size, 0)
  } finally {
    await bed.stop()
    await stopClock()
  }
})

cuts.run()
