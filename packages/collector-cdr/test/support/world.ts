import type { Clock, Collection, Collector, ImsiHash, Volume } from '@steeple/contracts'
import type { Free5gcOam } from '@steeple/southbound'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { assert, type FakeClock, fakeClock, fakeContext, type TempDir, tempDir } from '@steeple/testkit'
import { createCdrCollector } from '../../src/collector.ts'
import { cdrMetrics } from '../../src/metrics.ts'

/** A signal that never fires. */
export function patient(): AbortSignal {
  return new AbortController().signal
}

/** The IMSI of a test subscriber. */
export function imsiOf(number: number): string {
  return `99970${String(number).padStart(10, '0')}`
}

export function hashOf(imsi: string): ImsiHash {
  const parsed = parseImsi(imsi)
  assert.ok(parsed !== undefined)
  return imsiHash(parsed)
}

/** A directory and collectors of it. */
export interface World extends AsyncDisposable {
  readonly dir: TempDir
  readonly clock: FakeClock
  readonly metrics: ReturnType<typeof fakeContext>['metrics']
  /** Another one, as after a restart. */
  open(clock?: Clock): Collector
  /** What the core tells of its sessions; undefined: nothing. */
  oam: Free5gcOam | undefined
  close(): Promise<void>
}

export async function makeWorld(clock: FakeClock = fakeClock()): Promise<World> {
  const dir = await tempDir()
  const fake = fakeContext({ config: {}, clock })
  const metrics = cdrMetrics(fake.context)
  const world: World = {
    dir,
    clock,
    metrics: fake.metrics,
    oam: undefined,
    open: (own = clock) => createCdrCollector({ dir: dir.path, clock: own, metrics, oam: () => world.oam }),
    async [Symbol.asyncDispose]() {
      await this.close()
    },
    close: async () => {
      await fake.dispose()
      await dir.remove()
    },
  }
  return world
}

/** Counts as whoever keeps usage does. */
export class Ledger {
  readonly sums = new Map<ImsiHash, readonly [number, number]>()
  readonly volumes: Volume[] = []
  position: string | undefined

  async round(collector: Collector): Promise<Collection> {
    const collection = await collector.poll(this.position, patient())
    this.position = collection.position ?? this.position
    for (const volume of collection.volumes) {
      assert.ok(volume.key.by === 'imsi')
      assert.is(volume.count, 'delta')
      const [up, down] = this.sums.get(volume.key.imsi) ?? [0, 0]
      this.sums.set(volume.key.imsi, [up + volume.upBytes, down + volume.downBytes])
      this.volumes.push(volume)
    }
    return collection
  }

  of(imsi: string): readonly [number, number] {
    return this.sums.get(hashOf(imsi)) ?? [0, 0]
  }

  isIncomplete(imsi: string): boolean {
    const hash = hashOf(imsi)
    return this.volumes.some(
      ({ key, isIncomplete }) => key.by === 'imsi' && key.imsi === hash && isIncomplete,
    )
  }
}
