import {
  type Collection,
  type CollectionConsumer,
  type Collector,
  collectionConsumerRef,
  collectorRef,
  type ImsiHash,
  type Instance,
  serviceInfoRef,
  southboundUnavailable,
} from '@steeple/contracts'
import { assert, eventually, type FakeContext, fakeContext, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

const test = suite('collectors')
const IMSI = '999990000000001'
const INTERVAL_MS = 15_000
/** A tenth of a second between rounds: a round waits for a collector that hangs a third of it. */
const SHORT_MS = 100

/** A source with a counter that anybody may read from any position; `given` is what it holds. */
interface Source {
  octets: number
  readonly collector: Collector
}

interface Bed {
  readonly fake: FakeContext<unknown>
  readonly instance: Instance
  /** The sources of each take, in order. */
  readonly takes: (readonly string[])[]
  /** Octets that were counted, by source. */
  counted(source: string): number
  /** Installs a collector whose octets grow by 1 whenever it is asked. */
  install(id: string, changes?: Partial<Collector>): Source
  remove(id: string): void
  consume(take?: CollectionConsumer['take']): void
  count: CollectionConsumer['take']
  /** Passes an interval. */
  turn(): Promise<void>
  health(id: string): Promise<readonly [string | undefined, string]>
  value(name: string, labels: Readonly<Record<string, string>>): number | undefined
}

function collection(octets: number, from: string | undefined): Collection {
  const volume: Collection['volumes'][number] = {
    key: { by: 'imsi', imsi: 'aaaabbbbcccc' as ImsiHash }, // 12 hex characters
    upBytes: octets - Number(from ?? 0),
    downBytes: 0,
    fromMs: 1,
    toMs: 2,
    count: 'delta',
    isIncomplete: false,
  }
  return { sightings: [], isWhole: false, volumes: [volume], position: `${octets}`, lost: undefined }
}

function growing(source: string, changes: Partial<Collector>): Source {
  const made: Source = {
    octets: 0,
    collector: {
      source,
      poll: async (position) => {
        made.octets += 1
        return collection(made.octets, position)
      },
      ...changes,
    },
  }
  return made
}

/** Counts as whoever keeps usage does: octets and position in one step. */
function keeper(takes: (readonly string[])[]) {
  const positions = new Map<string, string>()
  const sums = new Map<string, number>()
  return {
    position: async (source: string) => positions.get(source),
    counted: (source: string) => sums.get(source) ?? 0,
    count: async (given: ReadonlyMap<string, Collection>) => {
      takes.push([...given.keys()])
      for (const [source, { volumes, position }] of given) {
        const octets = volumes.reduce((sum, { upBytes }) => sum + upBytes, 0)
        sums.set(source, (sums.get(source) ?? 0) + octets)
        if (position !== undefined) positions.set(source, position)
      }
    },
  }
}

async function inBed(
  work: (bed: Bed) => Promise<void>,
  { enabled = true, everyMs = INTERVAL_MS } = {},
): Promise<void> {
  const fake = fakeContext<unknown>({
    id: 'collectors',
    config: {},
    settings: { collector: { enabled, interval: `${everyMs}ms` } },
  })
  const plugins = new Set<string>()
  const info = { plugins: () => [...plugins].map((name) => ({ name, version: '1.0.0' })) }
  fake.services.set(serviceInfoRef.id, info)
  const instance = await plugin.setup(fake.context)
  await instance.start?.()
  const takes: (readonly string[])[] = []
  const { position, counted, count } = keeper(takes)
  try {
    await work({
      fake,
      instance,
      takes,
      counted,
      count,
      install: (id, changes = {}) => {
        plugins.add(id)
        const source = growing(id, changes)
        fake.services.set(collectorRef(id).id, source.collector)
        return source
      },
      remove: (id) => {
        plugins.delete(id)
        fake.services.delete(collectorRef(id).id)
      },
      consume: (take = count) => {
        fake.services.set(collectionConsumerRef.id, { position, take })
      },
      turn: () => fake.clock.advance(everyMs),
      health: async (id) => {
        const seen = (await instance.health?.())?.find(({ name }) => name === id)
        return [seen?.status, seen?.detail ?? '']
      },
      value: (name, labels) => fake.metrics.value(name, labels),
    })
  } finally {
    await fake.dispose()
    await instance.stop?.('unload')
  }
}

test('polls whatever collector is installed, has a round counted at once, and shows how they do', () =>
  inBed(async ({ install, consume, takes, counted, turn, health, value, remove }) => {
    consume()
    install('collector-of-others')
    install('second')
    await turn()
    assert.equal(takes, [['collector-of-others', 'second']])
    assert.equal(await health('second'), ['ok', '0 sessions, 1 volume 0 s ago'])
    await turn()
    assert.is(counted('second'), 2)
    const labels = { collector: 'second' }
    assert.is(value('svc_collectors_polls_total', { ...labels, result: 'ok' }), 2)
    assert.is(value('svc_collectors_records_total', { ...labels, kind: 'volume', result: 'counted' }), 2)
    assert.is(value('svc_collectors_lag_seconds', labels), 0)
    remove('second')
    await turn()
    assert.equal(takes.at(-1), ['collector-of-others'])
    assert.equal(await health('second'), [undefined, ''])
    assert.ok(Number.isNaN(value('svc_collectors_lag_seconds', labels)))
  }))

test('says what is wrong with one that fails, since when, and with no identity of a subscriber', () =>
  inBed(async ({ install, consume, turn, health, value, counted }) => {
    consume()
    let isBroken = false
    install('mme', {
      poll: async () => {
        if (isBroken) throw southboundUnavailable(`the MME does not tell of ${IMSI}`)
        return collection(1, '1')
      },
    })
    install('well')
    await turn()
    isBroken = true
    await turn()
    assert.equal(await health('mme'), ['degraded', 'the MME does not tell of … (last worked 15 s ago)'])
    for (let count = 0; count < 4; count += 1) await turn()
    assert.is((await health('mme'))[0], 'down')
    assert.is(value('svc_collectors_lag_seconds', { collector: 'mme' }), 75)
    assert.is((await health('well'))[0], 'ok')
    assert.is(counted('well'), 6)
    isBroken = false
    await turn()
    assert.is((await health('mme'))[0], 'ok')
  }))

test('keeps no other collector back when one hangs, and asks that one only once', () =>
  inBed(
    async ({ install, consume, counted, turn, health }) => {
      consume()
      let asked = 0
      install('hangs', {
        poll: () => {
          asked += 1
          return new Promise(() => undefined)
        },
      })
      install('well')
      for (let count = 1; count <= 6; count += 1) {
        await turn()
        assert.is(counted('well'), count)
      }
      assert.is(asked, 1)
      assert.equal(await health('hangs'), ['down', 'has not answered for 1 s'])
    },
    { everyMs: SHORT_MS },
  ))

test('has what comes late counted when it comes, and asks from the next position only then', () =>
  inBed(
    async ({ install, consume, counted, turn }) => {
      consume()
      const asked: (string | undefined)[] = []
      const late: PromiseWithResolvers<void>[] = []
      install('slow', {
        poll: async (position) => {
          asked.push(position)
          const gate = Promise.withResolvers<void>()
          late.push(gate)
          await gate.promise
          return collection(asked.length * 10, position)
        },
      })
      await turn()
      await turn()
      assert.equal(asked, [undefined])
      late[0]?.resolve()
      await eventually(() => assert.is(counted('slow'), 10))
      await turn()
      assert.equal(asked, [undefined, '10'])
      late[1]?.resolve()
      await eventually(() => assert.is(counted('slow'), 20))
    },
    { everyMs: SHORT_MS },
  ))

test('loses nothing and counts nothing twice while whoever counts fails or is away', () =>
  inBed(async ({ fake, install, consume, counted, turn, health, value, takes }) => {
    consume()
    const cdr = install('cdr')
    await turn()
    assert.is(counted('cdr'), 1)
    consume(async () => {
      throw new Error('the disk is full')
    })
    await turn()
    await turn()
    assert.equal(await health('cdr'), ['degraded', 'not counted for 30 s: the disk is full'])
    fake.services.delete(collectionConsumerRef.id)
    await turn()
    assert.match((await health('cdr'))[1], /no plugin that keeps usage is there/)
    assert.is(value('svc_collectors_lag_seconds', { collector: 'cdr' }), 45)
    consume()
    await turn()
    assert.is((await health('cdr'))[0], 'ok')
    assert.is(counted('cdr'), cdr.octets)
    assert.is(takes.length, 2)
    const labels = { collector: 'cdr', kind: 'volume' }
    assert.is(value('svc_collectors_records_total', { ...labels, result: 'refused' }), 2)
  }))

test('has the others counted when what one gives cannot be counted', () =>
  inBed(async ({ install, consume, count, counted, turn, health }) => {
    consume(async (given, signal) => {
      if (given.has('odd')) throw new Error('no such subscriber')
      await count(given, signal)
    })
    install('odd')
    const well = install('well')
    await turn()
    await turn()
    assert.is(counted('well'), well.octets)
    assert.equal(await health('odd'), ['degraded', 'not counted for 15 s: no such subscriber'])
    assert.is((await health('well'))[0], 'ok')
  }))

test('hands on nothing that is malformed, and says which part without its content', () =>
  inBed(async ({ install, consume, counted, turn, health }) => {
    consume()
    const right = collection(1, undefined)
    const volumes = [...right.volumes, { ...right.volumes[0], upBytes: Number.NaN }]
    install('broken', { poll: async () => ({ ...right, volumes }) as Collection })
    install('nothing', { poll: async () => undefined as unknown as Collection })
    const raw = {
      imsi: IMSI,
      apn: 'internet',
      reference: 'a',
      state: 'active',
      technology: 'lte',
      seenAtMs: 1,
    }
    install('raw', { poll: async () => ({ ...right, sightings: [raw] }) as unknown as Collection })
    const sound = { ...raw, imsi: 'aaaabbbbcccc' }
    for (const [id, part] of [
      ['numbered', { cell: 7 }],
      ['endless', { apn: 'a'.repeat(1_001) }],
    ] as const)
      install(id, {
        poll: async () => ({ ...right, sightings: [{ ...sound, ...part }] }) as unknown as Collection,
      })
    install('well')
    await turn()
    assert.is(counted('well'), 1)
    assert.match((await health('numbered'))[1], /sightings\.0: cell is no text/)
    assert.match((await health('endless'))[1], /sightings\.0: apn is empty or too long/)
    assert.match((await health('broken'))[1], /cannot be counted: volumes\.1: octets are no counts/)
    assert.match((await health('nothing'))[1], /it gave no list/)
    assert.match((await health('raw'))[1], /sightings\.0: imsi is no hash/)
  }))

test('counts what a collector gave whose plugin has left meanwhile, and before anybody asks again', () =>
  inBed(
    async ({ install, remove, consume, counted, turn }) => {
      consume()
      const gate = Promise.withResolvers<void>()
      install('tap', {
        poll: async (position) => {
          await gate.promise
          return collection(7, position)
        },
      })
      await turn()
      remove('tap')
      await turn()
      const asked: (string | undefined)[] = []
      install('tap', {
        poll: async (position) => {
          asked.push(position)
          return collection(9, position)
        },
      })
      await turn()
      assert.equal(asked, [])
      gate.resolve()
      await eventually(() => assert.is(counted('tap'), 7))
      await turn()
      assert.equal(asked, ['7'])
      assert.is(counted('tap'), 9)
    },
    { everyMs: SHORT_MS },
  ))

test('asks nobody from a position that is about to move', () =>
  inBed(
    async ({ install, consume, count, counted, turn, instance }) => {
      const gate = Promise.withResolvers<void>()
      consume(async (given, signal) => {
        await gate.promise
        await count(given, signal)
      })
      const tap = install('tap')
      const turning = turn()
      await eventually(() => assert.is(tap.octets, 1))
      await instance.start?.()
      let isStopped = false
      const stopping = instance.stop?.('upgrade').then(() => {
        isStopped = true
      })
      assert.is(tap.octets, 1)
      assert.is(isStopped, false)
      gate.resolve()
      await stopping
      await turning
      assert.is(counted('tap'), 1)
    },
    { everyMs: SHORT_MS },
  ))

test('tells of losses, and of what a collector says of itself', () =>
  inBed(async ({ install, consume, turn, health, value }) => {
    consume()
    const given = collection(1, undefined)
    const lost = { packets: 12, fromMs: 1, toMs: 2 }
    const volumes = given.volumes.map((volume) => ({ ...volume, isIncomplete: true }))
    install('gtpu', {
      poll: async () => ({ ...given, volumes, lost }),
      health: () => ({ status: 'degraded', detail: `12 packets were dropped, the last of ${IMSI}` }),
    })
    install('mute', {
      health: () => {
        throw new Error('it is gone')
      },
    })
    await turn()
    const [status, detail] = await health('gtpu')
    assert.equal(
      [status, detail],
      ['degraded', '0 sessions, 1 volume 0 s ago; 12 packets were dropped, the last of …'],
    )
    assert.match((await health('mute'))[1], /does not tell how it does: it is gone/)
    assert.is(value('svc_collectors_lost_packets_total', { collector: 'gtpu' }), 12)
    assert.is(value('svc_collectors_incomplete_total', { collector: 'gtpu' }), 1)
  }))

test('asks one of two that name the same source, and says so of the other', () =>
  inBed(async ({ install, consume, turn, health, takes }) => {
    consume()
    install('gtpu')
    install('mine', { source: 'gtpu' })
    install('odd', { source: 'Not A Name' })
    await turn()
    assert.equal(takes, [['gtpu']])
    assert.equal(await health('mine'), ['down', 'its source gtpu is that of gtpu: unload one of the two'])
    assert.match((await health('odd'))[1], /its source is not named/)
  }))

test('polls nobody while collector.enabled is false, and says so', () =>
  inBed(
    async ({ instance, install, consume, turn }) => {
      consume()
      const idle = install('idle')
      await turn()
      await turn()
      assert.is(idle.octets, 0)
      assert.match(JSON.stringify(await instance.health?.()), /collector\.enabled is false/)
    },
    { enabled: false },
  ))

test.run()
