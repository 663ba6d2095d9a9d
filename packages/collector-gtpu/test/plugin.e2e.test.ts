import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Collection,
  type CollectionConsumer,
  type Collector,
  collectionConsumerRef,
  type Settings,
} from '@steeple/contracts'
import {
  assert,
  eventually,
  fakeContext,
  type InlinePlugin,
  loadTestbed,
  type Overrides,
  pluginFrom,
  runTool,
  suite,
} from '@steeple/testkit'
import { ownName, plugin } from '../src/plugin.ts'
import { PACKETS } from './support/exactly.ts'
import { CORE, frame, pcapOf, truthOf } from './support/frames.ts'
import { folder, NEVER, send, sendOn } from './support/taps.ts'
import { enterVethNetwork, RECEIVING } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const life = suite('collector-gtpu/plugin')
const CONFIG = {
  enabled: true,
  iface: RECEIVING,
  inside_iface: [],
  driver: 'nft',
  file: '',
  core_addresses: [CORE],
} as const
const SENT = PACKETS.filter(({ isOuterIpv6 }) => isOuterIpv6 !== true).slice(0, 1_000)

/** What keeps usage: the last collection that it took, and the last with something in it. */
function keeper() {
  const kept: { last?: Collection; full?: Collection; isAway: boolean } = { isAway: false }
  const consumer = {
    position: async () => kept.last?.position,
    take: async (collections: ReadonlyMap<string, Collection>) => {
      if (kept.isAway) throw new Error('the store is away')
      const taken = collections.get('gtpu')
      if (taken === undefined) throw new Error('it is of another source')
      Object.assign(kept, { last: taken }, taken.volumes.length > 0 ? { full: taken } : {})
    },
  }
  return { kept, services: new Map<string, object>([[collectionConsumerRef.id, consumer]]) }
}

async function open(
  config: Omit<typeof CONFIG, 'enabled' | 'driver' | 'file'> & {
    readonly enabled: boolean
    readonly driver: 'nft' | 'file'
    readonly file: string
  },
  services: Map<string, object>,
  dataDir?: string,
  mode: 'lab' | 'rf' = 'rf',
) {
  // Keys of the plugin's own schema are among them.
  const server = { server: { mode, ...(dataDir === undefined ? {} : { data_dir: dataDir }) } }
  const settings = { collector: { upf: config }, ...server } as unknown as Overrides<Settings>
  const { context, clock } = fakeContext({ config, id: 'collector-gtpu', services, settings })
  const instance = await plugin.setup(context)
  await instance.start?.()
  // Its one service is a collector.
  const collector = instance.services?.get('collector.collector-gtpu') as Collector
  return { instance, collector, clock }
}

/** As the one who asks all collectors does: from the kept position, and what it gives is kept. */
async function round(collector: Collector, services: ReadonlyMap<string, object>): Promise<Collection> {
  // What `keeper` has put there.
  const consumer = services.get(collectionConsumerRef.id) as CollectionConsumer
  const collection = await collector.poll(await consumer.position('gtpu'), NEVER)
  await consumer.take(new Map([['gtpu', collection]]), NEVER)
  return collection
}

/** Whether its volumes begin to be counted, each form once. */
function beginnings({ volumes }: Collection): readonly unknown[] {
  return [...new Set(volumes.map(({ count }) => count !== 'delta' && count.isBeginning === true))]
}

function octets(collection: Collection | undefined): object {
  return Object.fromEntries(
    (collection?.volumes ?? []).map(({ key, upBytes, downBytes }) => [
      key.by === 'address' ? key.address : '',
      [upBytes, downBytes],
    ]),
  )
}

const TRUTH = octetsOf(1)

/** What `SENT` comes to when it was sent so often. */
function octetsOf(times: number): object {
  return Object.fromEntries(
    [...truthOf(SENT)].map(([phone, [up, down]]) => [phone, [up * times, down * times]]),
  )
}

life('hands over what it has counted when it is unloaded, and leaves no rule behind', async () => {
  const { kept, services } = keeper()
  const { instance, collector } = await open(CONFIG, services)
  await round(collector, services)
  send(SENT)
  await instance.stop?.('unload')
  assert.equal(octets(kept.full), TRUTH)
  assert.is(runTool('nft', 'list', 'tables'), '')
})

life('goes on with its counters when it is upgraded, and when nobody took what it had', async () => {
  const { kept, services } = keeper()
  const first = await open(CONFIG, services)
  await round(first.collector, services)
  send(SENT)
  await first.instance.stop?.('upgrade')
  const second = await open(CONFIG, services)
  kept.isAway = true
  await second.instance.stop?.('unload')
  const third = await open(CONFIG, services)
  kept.isAway = false
  const counted = await round(third.collector, services)
  assert.equal([octets(counted), beginnings(counted)], [TRUTH, [false]])
  await third.instance.stop?.('unload')
  assert.is(runTool('nft', 'list', 'tables'), '')
})

life('leaves no rule of the lab in the kernel when it stops, and counts on on every box', async () => {
  // `lab` is what a box with a core of its own has, too, as long as nothing else is set.
  for (const [mode, isBesideLab, left] of [
    ['lab', true, /^$/],
    ['lab', false, /table netdev/],
    ['rf', true, /table netdev/],
  ] as const) {
    const { kept, services } = keeper()
    // As `svc lab` starts the service, or anybody else.
    process.env.STEEPLE_LAB_TAP = isBesideLab ? 'true' : ''
    const { instance, collector } = await open(CONFIG, services, undefined, mode)
    await round(collector, services)
    send(SENT)
    await instance.stop?.('shutdown')
    assert.match(runTool('nft', 'list', 'tables'), left)
    if (left.test('')) assert.equal(octets(kept.full), TRUTH)
    runTool('nft', 'flush', 'ruleset')
  }
  delete process.env.STEEPLE_LAB_TAP
})

life('hands over what a lab has counted before the one that keeps it leaves, else leaves it', async () => {
  const { startTestbed } = await loadTestbed()
  // What a configuration names must be an interface that /sys has.
  const config = { collector: { upf: { ...CONFIG, iface: 'lo' } } }
  process.env.STEEPLE_LAB_TAP = 'true'
  for (const isAway of [false, true]) {
    const { kept, services } = keeper()
    // By its name it would come after the tap, and leave before it.
    const usage: InlinePlugin = {
      manifest: {
        id: 'usage',
        kind: 'feature',
        config_path: 'usage',
        handover: 'overlap',
        contracts: '*',
        provides: [collectionConsumerRef.id],
      },
      name: 'usage',
      version: '1.0.0',
      plugin: { setup: async () => ({ services }) },
    }
    const plugins = [await pluginFrom(import.meta.url, plugin), usage]
    const bed = await startTestbed({ plugins, config })
    sendOn('lo', SENT.map(frame))
    kept.isAway = isAway
    await bed.stop()
    assert.equal(octets(kept.full), isAway ? {} : TRUTH)
    assert.match(runTool('nft', 'list', 'tables'), isAway ? /table netdev/ : /^$/)
    runTool('nft', 'flush', 'ruleset')
  }
  delete process.env.STEEPLE_LAB_TAP
})

life('leaves what it has counted while nobody is there who keeps it', async () => {
  const { services } = keeper()
  const there = new Map(services)
  const alone = await open(CONFIG, there)
  await round(alone.collector, services)
  send(SENT)
  there.clear()
  await alone.instance.stop?.('unload')
  const next = await open(CONFIG, services)
  const counted = await round(next.collector, services)
  assert.equal([octets(counted), beginnings(counted)], [TRUTH, [false]])
  await next.instance.stop?.('unload')
  assert.is(runTool('nft', 'list', 'tables'), '')
})

life('takes away the rules of a service that was killed, once they are not wanted any more', async () => {
  const { kept, services } = keeper()
  const killed = await open(CONFIG, services)
  await round(killed.collector, services)
  send(SENT)
  const off = await open({ ...CONFIG, enabled: false }, services)
  assert.equal(octets(kept.full), TRUTH)
  assert.is(runTool('nft', 'list', 'tables'), '')
  assert.equal((await off.collector.poll(undefined, NEVER)).volumes, [])
})

life(
  'counts for a new store nothing that a service with another one has left, and all that comes',
  async () => {
    const before = keeper()
    const killed = await open(CONFIG, before.services)
    await round(killed.collector, before.services)
    send(SENT)
    const { services } = keeper()
    const anew = await open(CONFIG, services)
    const first = await round(anew.collector, services)
    assert.equal([octets(first), beginnings(first)], [TRUTH, [true]])
    send(SENT)
    const second = await round(anew.collector, services)
    assert.equal([octets(second), beginnings(second)], [octetsOf(2), [false]])
    await anew.instance.stop?.('unload')
    assert.is(runTool('nft', 'list', 'tables'), '')
  },
)

life('leaves no counters of a capture when the service stops, and counts it on as the same', async () => {
  const own = folder()
  const file = join(own.path, 'captured.pcap')
  writeFileSync(file, pcapOf(SENT.map(frame)))
  const folders = ['/run', '/dev/shm'].map((place) => join(place, `${ownName(own.path)}_file`))
  const generations = new Set<string | undefined>()
  try {
    for (const why of ['shutdown', 'shutdown'] as const) {
      const { services } = keeper()
      const config = { ...CONFIG, driver: 'file', file } as const
      const { instance, collector, clock } = await open(config, services, own.path)
      await eventually(async () => {
        // Its child is looked after each second.
        await clock.advance(1_000)
        const collection = await collector.poll(undefined, NEVER)
        assert.equal(octets(collection), TRUTH)
        const [volume] = collection.volumes
        generations.add(typeof volume?.count === 'object' ? volume.count.generation : undefined)
      }, 60_000)
      assert.ok(folders.some((path) => existsSync(path)))
      await instance.stop?.(why)
      assert.not.ok(folders.some((path) => existsSync(path)))
    }
    assert.is(generations.size, 1)
  } finally {
    own.remove()
  }
})

life('answers and ends while its capture is a pipe that nobody writes, and says what to name', async () => {
  const own = folder()
  const file = join(own.path, 'captured.pcap')
  runTool('mkfifo', file)
  try {
    const { services } = keeper()
    const { instance, collector } = await open({ ...CONFIG, driver: 'file', file }, services, own.path)
    const words = /collector[.]upf[.]file is no file but a pipe: name a capture that lies on a disk/
    assert.match(String(await collector.poll(undefined, NEVER).catch((error: unknown) => error)), words)
    const health = collector.health?.()
    assert.is(health?.status, 'down')
    assert.match(health?.detail ?? '', words)
    await instance.stop?.('shutdown')
  } finally {
    own.remove()
  }
})

life.run()
