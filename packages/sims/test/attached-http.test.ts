import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  driverPlugin,
  eventually,
  type FakeCore,
  fakeClock,
  fakeCore,
  fakeHss,
  letTimePass,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

interface Sim {
  readonly imsi_sha256_12: string
  readonly state: string
  readonly attached: boolean | null
  readonly last_seen_at: string | null
}

const http = suite('sims/attached-http')
let bed: Testbed
let core: FakeCore
let stopClock: () => Promise<void>
const clock = fakeClock()

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  core = fakeCore()
  stopClock = letTimePass(clock)
  bed = await startTestbed({
    clock,
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', fakeHss()),
      driverPlugin('core', core),
    ],
  })
  const sims = [1, 2, 3].map((n) => ({ imsi: imsi(n), ki: KI, opc: KI }))
  bodyOf(await bed.request('POST', '/v1/sims/import', { body: { sims } }))
})
http.after(async () => {
  await bed.stop()
  await stopClock()
})

const KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
const imsi = (number: number): string => `99999${String(number).padStart(10, '0')}`
const parsed = (number: number) => parseImsi(imsi(number))!
const hashOf = (number: number): string => imsiHash(parsed(number))
const show = async (number: number): Promise<Sim> =>
  bodyOf(await bed.request('GET', `/v1/sims/${hashOf(number)}`))
const listed = async (query: string): Promise<readonly string[]> =>
  bodyOf<{ sims: readonly Sim[] }>(await bed.request('GET', `/v1/sims?${query}`)).sims.map(
    (sim) => sim.imsi_sha256_12,
  )

http('says who is attached, in the record and as a filter, and when that was', async () => {
  const before = await show(1)
  assert.equal([before.attached, before.last_seen_at], [false, null])
  core.attached.add(parsed(1))
  await eventually(async () => assert.is((await show(1)).attached, true))
  assert.ok(Math.abs(Date.parse((await show(1)).last_seen_at ?? '') - clock.nowMs()) < 60_000)
  assert.equal(await listed('attached=true'), [hashOf(1)])
  assert.equal([...(await listed('attached=false'))].sort(), [hashOf(2), hashOf(3)].sort())
  assert.equal(await listed('attached=true&limit=1'), [hashOf(1)])
})

http('remembers when it saw a phone last that has gone', async () => {
  core.attached.add(parsed(2))
  await eventually(async () => assert.is((await show(2)).state, 'in-use'))
  core.attached.delete(parsed(2))
  await eventually(async () => assert.is((await show(2)).attached, false))
  const { last_seen_at: seen } = await show(2)
  assert.ok(Math.abs(Date.parse(seen ?? '') - clock.nowMs()) < 60_000, String(seen))
})

http('takes a phone that was cut off for gone at once', async () => {
  core.attached.add(parsed(3))
  await eventually(async () => assert.is((await show(3)).attached, true))
  const cut = bodyOf<Sim & { detached: string }>(
    await bed.request('POST', `/v1/sims/${hashOf(3)}/suspend?wait=30s`),
  )
  assert.equal([cut.detached, cut.attached], ['yes', false])
})

http('says that a phone is off which the HSS let go before the core was asked to', async () => {
  core.attached.add(parsed(1))
  await eventually(async () => assert.is((await show(1)).attached, true))
  const { kick } = core
  core.kick = async (one, signal) => {
    core.attached.delete(one)
    return await kick(one, signal)
  }
  const cut = bodyOf<Sim & { detached: string }>(
    await bed.request('POST', `/v1/sims/${hashOf(1)}/suspend?wait=30s`),
  )
  assert.equal([cut.detached, cut.attached], ['yes', false])
})

http.run()
