import {
  type Collection,
  collectionConsumerRef,
  collectorRef,
  type ImsiHash,
  type Instance,
  serviceInfoRef,
} from '@steeple/contracts'
import { assert, type FakeContext, fakeContext, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

/*
 * Random histories: sources that grow, answer late, fail and give nonsense; whoever counts fails before its commit, after it, or
 * is away; plugins leave and come back, the plugin itself is replaced. In the end each octet was counted once.
 */
const histories = suite('collectors/histories', { limitMs: 600_000 })
const SEEDS = 60
const STEPS = 40
const INTERVAL_MS = 9
const SOURCES = ['cdr', 'gtpu', 'mine'] as const

/** Numbers below `below`, the same for a seed: Park and Miller's generator. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** A delta of `upBytes` octets that ends at a position. */
function delta(upBytes: number, position: number): Collection {
  const key = { by: 'imsi', imsi: 'aaaabbbbcccc' as ImsiHash } as const // 12 hex characters
  const span = { fromMs: 1, toMs: 2, isIncomplete: false }
  const volume = { key, upBytes, downBytes: 0, ...span, count: 'delta' } as const
  return { sightings: [], isWhole: false, volumes: [volume], position: `${position}`, lost: undefined }
}

class History {
  readonly roll: (below: number) => number
  readonly truth = new Map<string, number>(SOURCES.map((source) => [source, 0]))
  readonly counted = new Map<string, number>()
  readonly positions = new Map<string, string>()
  readonly gates: (() => void)[] = []
  readonly plugins = new Set<string>(SOURCES)
  readonly fake: FakeContext<unknown> = fakeContext({
    id: 'collectors',
    config: {},
    settings: { collector: { enabled: true, interval: `${INTERVAL_MS}ms` } },
  })
  instance: Instance | undefined
  isCalm = false

  constructor(seed: number) {
    this.roll = dice(seed)
    const { services } = this.fake
    services.set(serviceInfoRef.id, {
      plugins: () => [...this.plugins].map((name) => ({ name, version: '1' })),
    })
    for (const source of SOURCES)
      services.set(collectorRef(source).id, {
        source,
        poll: (position: string | undefined, signal: AbortSignal) => this.#poll(source, position, signal),
      })
    this.setConsumer(true)
  }

  setConsumer(isThere: boolean): void {
    const { services } = this.fake
    if (!isThere) services.delete(collectionConsumerRef.id)
    else
      services.set(collectionConsumerRef.id, {
        position: async (source: string) => this.positions.get(source),
        take: (given: ReadonlyMap<string, Collection>) => this.#take(given),
      })
  }

  async #maybeLater(): Promise<void> {
    if (this.isCalm || this.roll(3) > 0) return
    await new Promise<void>((resolve) => this.gates.push(resolve))
  }

  async #poll(source: string, position: string | undefined, signal: AbortSignal): Promise<Collection> {
    const octets = this.truth.get(source) ?? 0
    await this.#maybeLater()
    signal.throwIfAborted()
    const trouble = this.isCalm ? 9 : this.roll(8)
    if (trouble === 0) throw new Error('the source cannot be read')
    const given = delta(octets - Number(position ?? 0), octets)
    return trouble === 1 ? { ...given, isWhole: undefined as unknown as boolean } : given
  }

  async #take(given: ReadonlyMap<string, Collection>): Promise<void> {
    await this.#maybeLater()
    const trouble = this.isCalm ? 9 : this.roll(6)
    if (trouble === 0) throw new Error('the store takes no writes')
    for (const [source, { volumes, position }] of given) {
      const octets = volumes.reduce((sum, { upBytes }) => sum + upBytes, 0)
      this.counted.set(source, (this.counted.get(source) ?? 0) + octets)
      if (position !== undefined) this.positions.set(source, position)
    }
    // As when the connection breaks before the answer to a commit comes.
    if (trouble === 1) throw new Error('the connection was lost')
  }

  openGates(): void {
    for (const open of this.gates.splice(0)) open()
  }
}

async function step(history: History): Promise<void> {
  const { roll, fake, plugins, truth } = history
  for (const source of SOURCES) truth.set(source, (truth.get(source) ?? 0) + roll(1_000))
  const one = SOURCES[roll(SOURCES.length)] ?? 'cdr'
  const way = roll(8)
  if (way === 0) plugins.delete(one)
  else if (way === 1) plugins.add(one)
  else if (way === 2) history.setConsumer(roll(2) === 0)
  else if (way === 3 || way === 4) history.openGates()
  // A round waits a while for who is late; meanwhile the world goes on.
  const turning = fake.clock.advance(INTERVAL_MS)
  if (roll(2) === 0) history.openGates()
  const opening = setInterval(() => history.openGates(), INTERVAL_MS)
  await turning
  clearInterval(opening)
}

histories(`counts each octet once in ${SEEDS} random histories`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const history = new History(seed * 7_919)
    const { fake } = history
    history.instance = await plugin.setup(fake.context)
    await history.instance.start?.()
    for (let count = 0; count < STEPS; count += 1) await step(history)
    history.isCalm = true
    for (const source of SOURCES) history.plugins.add(source)
    history.setConsumer(true)
    for (let count = 0; count < 6; count += 1) {
      history.openGates()
      await fake.clock.advance(INTERVAL_MS)
    }
    assert.equal(history.counted, history.truth, `seed ${seed}`)
    await fake.dispose()
    history.openGates()
    await history.instance.stop?.('unload')
  }
})

histories.run()
