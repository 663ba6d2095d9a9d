import { coreDriverRef, ranDriverRef } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { assert, type FakeCore, fakeClock, fakeContext, fakeCore, suite } from '@steeple/testkit'
import { type AttachedSet, attachedSet } from '../src/attach/attach-state.ts'

const attach = suite('sims/presence')

const IMSI = parseImsi('999990000000001')!
const signal = new AbortController().signal

function place(): {
  readonly core: FakeCore
  readonly services: Map<string, object>
  readonly advance: (ms: number) => Promise<void>
  readonly there: AttachedSet
} {
  const clock = fakeClock()
  const core = fakeCore()
  core.attached.add(IMSI)
  const services = new Map<string, object>([[coreDriverRef.id, core]])
  const { context } = fakeContext({ id: 'sims', config: {}, clock, services })
  return { core, services, advance: (ms) => clock.advance(ms), there: attachedSet(context) }
}

attach('knows nothing before the core has told', async () => {
  const { there } = place()
  assert.is(there.now(), undefined)
  assert.equal([...((await there.look(signal))?.hashes ?? [])], [imsiHash(IMSI)])
})

attach('asks the core anew for who needs it fresh, once a second', async () => {
  const { core, advance, there } = place()
  await there.look(signal)
  core.attached.clear()
  assert.is((await there.fresh())?.hashes.size, 1)
  await advance(1_001)
  assert.is((await there.fresh())?.hashes.size, 0)
})

attach('has nobody on while the only radio is off, whatever the core still lists', async () => {
  const { core, services, there } = place()
  const radio = { mode: 'lte', pid: undefined, isWanted: true, isConnected: true, attachedUes: 1 }
  services.set(ranDriverRef.id, { observe: async () => radio })
  const { observe } = core
  let radios = 1
  core.observe = async (asked) => ({ ...(await observe(asked)), radios })
  const seen = async (): Promise<number | undefined> => (await there.look(signal))?.hashes.size
  assert.is(await seen(), 1)
  Object.assign(radio, { isWanted: false, isConnected: false })
  assert.is(await seen(), 1, 'another base station is there')
  radios = 0
  assert.is(await seen(), 0)
  Object.assign(radio, { isWanted: true })
  assert.is(await seen(), 1, 'one that comes back at once has lost nobody')
})

attach(
  'keeps what it saw for 15 s when the core does not tell, and then says that it does not know',
  async () => {
    const { core, advance, there } = place()
    await there.look(signal)
    const ues = core.ues
    core.ues = async () => {
      throw new Error('the core does not answer')
    }
    await advance(10_000)
    assert.is((await there.look(signal))?.hashes.size, 1)
    await advance(5_001)
    assert.is(await there.look(signal), undefined)
    assert.is(await there.fresh(), undefined)
    core.ues = ues
    assert.is((await there.look(signal))?.hashes.size, 1)
  },
)

attach('takes a phone that goes while the core is asked for gone', async () => {
  const { core, there } = place()
  const { ues } = core
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  core.ues = async (...call) => {
    const seen = await ues(...call)
    asked.resolve()
    await answer.promise
    return seen
  }
  const looking = there.look(signal)
  await asked.promise
  there.left(imsiHash(IMSI))
  answer.resolve()
  assert.is((await looking)?.hashes.size, 0)
  core.ues = ues
  assert.is((await there.look(signal))?.hashes.size, 1, 'it is back')
})

attach('does not wait for a core that hangs', async () => {
  const { core, advance, there } = place()
  await there.look(signal)
  core.ues = () => new Promise(() => {})
  await advance(1_001)
  assert.is((await there.fresh())?.hashes.size, 1)
  await advance(15_000)
  assert.is(await there.fresh(), undefined)
})

attach.run()
