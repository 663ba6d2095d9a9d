import { type Transmitter, type TxGate, transmitterRef, txGateRef } from '@steeple/contracts'
import { assert, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { OPEN_POLICY, type World, world } from '../support/world.ts'

const machine = suite('policy/silence-model')

/** One copy of a driver with its radio, as the contract of `Transmitter` wants it: a start goes no further after a stop. */
interface Copy extends Transmitter {
  isOnAir: boolean
  /** Its radio cannot be ended. */
  isStuck: boolean
  /** Its process is not there to be asked; its radio goes on. */
  isLost: boolean
  /** The stops so far. */
  stops: number
  /** A start that has its permit and has not made its process yet: the stops when it asked. */
  starting: number | undefined
  hasLeft: boolean
}

function copyOf(): Copy {
  const copy: Copy = {
    isOnAir: false,
    isStuck: false,
    isLost: false,
    stops: 0,
    starting: undefined,
    hasLeft: false,
    stop: async () => {
      copy.stops += 1
      if (copy.isLost) throw new Error('the process is away')
      if (copy.isStuck && copy.isOnAir) throw new Error('the kernel holds it')
      copy.isOnAir = false
    },
  }
  return copy
}

/** A node: the gate, the copies of its driver that ever were, and what a watcher of the air knows. */
class Node {
  here: World
  readonly copies: Copy[] = []
  /** The copy that provides the transmitter. */
  provider: Copy | undefined
  isStoreFull = false

  constructor(here: World) {
    this.here = here
  }

  get gate(): TxGate {
    return this.here.instance.services?.get(txGateRef.id) as TxGate
  }

  /** The kernel retires whatever copy was there before it loads another, also one that it lost sight of. */
  load(): void {
    for (const copy of this.copies) copy.hasLeft = true
    this.provider = copyOf()
    this.copies.push(this.provider)
    this.provide()
  }

  provide(): void {
    const { services } = this.here.fake
    if (this.provider === undefined) services.delete(transmitterRef.id)
    else services.set(transmitterRef.id, this.provider)
    this.here.failStore(this.isStoreFull)
  }

  /** The kernel's order: quiesce, then withdrawn. */
  async unload(): Promise<void> {
    const leaving = this.provider
    if (leaving === undefined) return
    leaving.hasLeft = true
    await leaving.stop(new AbortController().signal).catch(() => undefined)
    this.provider = undefined
    this.provide()
  }

  /** Whether anything sends or is about to. */
  maySend(): boolean {
    return this.copies.some(({ isOnAir, starting, stops }) => isOnAir || starting === stops)
  }

  async transmitter(): Promise<string> {
    return (await this.gate.state()).transmitter
  }
}

type Step = (node: Node) => Promise<void>

const permitOf = (copy: Copy, gate: TxGate): Promise<void> => {
  const { stops } = copy
  return gate.permit('b3-lab').then(
    () => {
      // The driver looks again at what it read before it asked: a stop since then ends the start.
      if (copy.stops === stops && !copy.hasLeft) copy.starting = stops
    },
    () => undefined,
  )
}

const spectrum = (allow_list: readonly object[]): object => ({ spectrum: { allow_list } })

const STEPS: Readonly<Record<string, Step>> = {
  arm: async ({ here }) => {
    await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
  },
  disarm: async (node) => {
    const { status, body } = await node.here.call('POST', '/v1/tx/disarm')
    const saysOff = status === 200 || String(body.message).includes('the transmitter is off')
    if (saysOff) assert.is(node.maySend(), false, `a disarm said off while something may send: ${status}`)
  },
  'ask for a permit': async (node) => {
    if (node.provider !== undefined) await permitOf(node.provider, node.gate)
  },
  'a copy that has left asks for a permit': async (node) => {
    const gone = node.copies.find((copy) => copy !== node.provider)
    if (gone !== undefined) await permitOf(gone, node.gate)
  },
  start: async ({ copies }) => {
    for (const copy of copies) {
      if (copy.starting === copy.stops) copy.isOnAir = true
      copy.starting = undefined
    }
  },
  'ask and start while a disarm comes': async (node) => {
    const asked = node.provider === undefined ? undefined : permitOf(node.provider, node.gate)
    await Promise.all([asked, STEPS.disarm?.(node)])
  },
  'disarm and arm at once': async (node) => {
    await Promise.all([node.here.call('POST', '/v1/tx/disarm'), STEPS.arm?.(node)])
  },
  'reload the driver': async (node) => {
    await node.unload()
    node.load()
  },
  'unload the driver': (node) => node.unload(),
  'load the driver': async (node) => {
    if (node.provider === undefined) node.load()
  },
  'withdraw the driver without a word': async (node) => {
    node.provider = undefined
    node.provide()
  },
  'the radio hangs': async ({ provider }) => {
    if (provider?.isOnAir === true) provider.isStuck = true
  },
  'the process of the driver is lost': async ({ provider }) => {
    if (provider !== undefined) provider.isLost = true
  },
  'all is well again': async ({ copies }) => {
    for (const copy of copies) Object.assign(copy, { isStuck: false, isLost: false })
  },
  'reload the gate': async (node) => {
    node.here = await node.here.reload()
    node.provide()
  },
  'restart the service': async (node) => {
    await node.here.instance.quiesce?.('shutdown').catch(() => undefined)
    // Radios die with the service, or are swept by the next copy of the driver before anything else.
    for (const copy of node.copies.splice(0)) copy.isOnAir = false
    node.here = await node.here.restart()
    node.load()
  },
  'kill the service': async (node) => {
    for (const copy of node.copies.splice(0)) copy.isOnAir = false
    node.here = await node.here.restart()
    node.load()
  },
  'the disk is full': async (node) => {
    node.isStoreFull = true
    node.provide()
  },
  'the disk has room': async (node) => {
    node.isStoreFull = false
    node.provide()
  },
  'a gate turns red': async (node) => {
    await node.here.call('PUT', '/v1/policy', spectrum([]))
  },
  'the gate is green': async (node) => {
    await node.here.call('PUT', '/v1/policy', OPEN_POLICY)
  },
  reconcile: async ({ here }) => {
    await here.reconcile()
  },
}

async function run(names: readonly string[]): Promise<void> {
  const node = new Node(await world())
  try {
    node.load()
    await node.here.call('PUT', '/v1/policy', OPEN_POLICY)
    for (const name of names) {
      await STEPS[name]?.(node)
      const state = await node.transmitter()
      if (state === 'off') assert.is(node.maySend(), false, `off while something may send, after ${name}`)
    }
    // Whatever came: with everything well, a disarm ends in silence that is known.
    for (const name of ['all is well again', 'the disk has room', 'disarm', 'reconcile', 'reconcile']) {
      await STEPS[name]?.(node)
    }
    assert.equal([await node.transmitter(), (await node.gate.state()).armed], ['off', false])
    assert.is(node.maySend(), false)
  } finally {
    await node.here.close()
  }
}

machine('never says off while a transmitter may send, whatever comes, and says it in the end', async () => {
  const any = fc.constantFrom(...Object.keys(STEPS))
  const usual = fc.constantFrom('arm', 'ask for a permit', 'start', 'disarm', 'reload the driver')
  const onAir = fc.constant(['arm', 'ask for a permit', 'start'])
  const steps = fc.tuple(fc.oneof(onAir, fc.constant([])), fc.array(fc.oneof(any, usual), { maxLength: 16 }))
  await fc.assert(
    fc.asyncProperty(steps, async ([first, more]) => run([...first, ...more])),
    { numRuns: rounds(60) },
  )
})

machine('has its use: a gate that takes a missing service for silence is found out', async () => {
  const node = new Node(await world())
  try {
    node.load()
    await node.here.call('PUT', '/v1/policy', OPEN_POLICY)
    for (const name of [
      'arm',
      'ask for a permit',
      'start',
      'the radio hangs',
      'unload the driver',
      'disarm',
    ]) {
      await STEPS[name]?.(node)
    }
    assert.equal([await node.transmitter(), node.maySend()], ['unconfirmed', true])
  } finally {
    await node.here.close()
  }
})

machine.run()
