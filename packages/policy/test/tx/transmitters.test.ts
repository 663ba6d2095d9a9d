import { type ServiceRef, type Transmitter, transmitterRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { type GateMemory, gateMemory } from '../../src/tx/gate-memory.ts'
import { type Transmitters, transmittersOf } from '../../src/tx/transmitters.ts'

const transmitters = suite('policy/transmitters')

/** A node whose provider of `ran.transmitter` a test exchanges. */
interface Node {
  /** What was told of them, in order. */
  readonly told: string[]
  readonly all: Transmitters
  readonly memory: GateMemory
  provider: Transmitter | undefined
}

function nodeWith(provider: Transmitter | undefined, boundMs?: number): Node {
  const context = {
    provider: <T extends object>(ref: ServiceRef<T>) =>
      ref.id === transmitterRef.id ? (node.provider as T | undefined) : undefined,
  }
  const memory = gateMemory(context)
  const told: string[] = []
  const all = transmittersOf(context, memory, (state) => told.push(state), boundMs)
  const node: Node = { all, memory, provider, told }
  return node
}

function radio(): Transmitter & { isOnAir: boolean; doesObey: boolean } {
  const one = {
    isOnAir: true,
    doesObey: true,
    stop: async (): Promise<void> => {
      if (!one.doesObey) throw new Error('no answer')
      one.isOnAir = false
    },
  }
  return one
}

transmitters('are silent as long as each that is permitted says so itself, and none is awaited', async () => {
  let hasEnded = false
  const told = { ...radio(), isSilent: () => hasEnded }
  const node = nodeWith(told)
  assert.not(node.all.areSilent(), 'nobody was asked')
  node.all.permitted()
  assert.not(node.all.areSilent())
  hasEnded = true
  assert.ok(node.all.areSilent())
  assert.is(node.all.state(), 'on', 'a disarm tells it nevertheless')
  node.provider = radio()
  node.all.permitted()
  assert.not(node.all.areSilent(), 'another one may be on air')
})

async function codeOf(work: () => Promise<void> | void): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
  return 'nothing thrown'
}

transmitters('are not known to be off before they were asked', async () => {
  const node = nodeWith(radio())
  assert.is(node.all.state(), 'unconfirmed')
  await node.all.settle()
  assert.is(node.all.state(), 'off')
  node.all.permitted()
  assert.is(node.all.state(), 'on')
  await node.all.settle()
  assert.is(node.all.state(), 'on')
})

transmitters('tell that they went on or off, and of a stop when it is over', async () => {
  const one = radio()
  const node = nodeWith(one)
  node.all.permitted()
  await node.all.stop()
  one.doesObey = false
  node.all.permitted()
  assert.is(await codeOf(() => node.all.stop()), 'southbound_unavailable')
  one.doesObey = true
  await node.all.settle()
  assert.equal(node.told, ['on', 'off', 'on', 'unconfirmed', 'off'])
})

transmitters('that nobody provides are silent where none was ever permitted', async () => {
  const node = nodeWith(undefined)
  await node.all.stop()
  assert.is(node.all.state(), 'off')
})

transmitters('are not permitted while nothing could stop them', async () => {
  assert.is(await codeOf(() => nodeWith(undefined).all.permitted()), 'tx_gate_closed')
})

transmitters('that fail, or ignore the bound, are not off', async () => {
  const failing = nodeWith({ stop: () => Promise.reject(new Error('no')) }, 20).all
  assert.is(await codeOf(() => failing.stop()), 'southbound_unavailable')
  assert.is(failing.state(), 'unconfirmed')
  const hanging = nodeWith({ stop: () => new Promise(() => undefined) }, 20).all
  // AbortSignal.timeout does not keep the process alive by itself.
  const keepAlive = setTimeout(() => undefined, 2_000)
  assert.is(await codeOf(() => hanging.stop()), 'southbound_unavailable')
  clearTimeout(keepAlive)
  assert.is(hanging.state(), 'unconfirmed')
})

transmitters('permitted again while they are being stopped are not known to be off', async () => {
  const gate = Promise.withResolvers<void>()
  const node = nodeWith({ stop: () => gate.promise })
  node.all.permitted()
  const stopping = node.all.stop()
  node.all.permitted()
  gate.resolve()
  await stopping
  assert.is(node.all.state(), 'on')
})

transmitters('are told to stop in the very turn of the call', () => {
  const one = radio()
  const node = nodeWith(one)
  node.all.permitted()
  void node.all.stop()
  assert.is(one.isOnAir, false)
})

transmitters(
  'that were withdrawn are stopped by their own objects, and are not off because nobody is there',
  async () => {
    const gone = radio()
    const node = nodeWith(gone)
    node.all.permitted()
    node.provider = undefined
    gone.doesObey = false
    assert.is(await codeOf(() => node.all.stop()), 'southbound_unavailable')
    assert.is(node.all.state(), 'unconfirmed')
    gone.doesObey = true
    await node.all.settle()
    assert.is(gone.isOnAir, false)
    assert.is(node.all.state(), 'off')
  },
)

transmitters('that were withdrawn go off although another one is on', async () => {
  const [gone, next] = [radio(), radio()]
  const node = nodeWith(gone)
  node.all.permitted()
  node.provider = next
  node.all.permitted()
  await node.all.settle()
  assert.equal([gone.isOnAir, next.isOnAir], [false, true])
  assert.is(node.all.state(), 'on')
  await node.all.stop()
  assert.is(next.isOnAir, false)
  assert.is(node.all.state(), 'off')
})

transmitters('of which one does not confirm are not off, whatever the other says', async () => {
  const [stuck, next] = [radio(), radio()]
  const node = nodeWith(stuck)
  node.all.permitted()
  node.provider = next
  stuck.doesObey = false
  assert.is(await codeOf(() => node.all.stop()), 'southbound_unavailable')
  assert.is(next.isOnAir, false)
  assert.is(node.all.state(), 'unconfirmed')
  assert.is(node.all.isAwaited(), true)
})

transmitters.run()
