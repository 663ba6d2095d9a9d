import {
  type Collection,
  type CollectionConsumer,
  type ComponentHealth,
  collectionConsumerRef,
  type ImsiHash,
  type SessionSighting,
  type UsageIncrement,
  type UsageLedger,
  usageLedgerRef,
  usageListenerRef,
  type Volume,
} from '@steeple/contracts'
import { type FakeContext, fakeClock, fakeContext, type MemoryDb, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import type { SessionsConfig } from '../../src/plugin.ts'
import { plugin } from '../../src/plugin.ts'
import { SESSIONS, type SessionRow } from '../../src/store/tables.ts'

/** 2026-11-22 10:00 UTC */
export const START_MS = 1_795_341_600_000
export const ANN = 'aaaaaaaaaaaa' as ImsiHash
export const BOB = 'bbbbbbbbbbbb' as ImsiHash

/** A running copy of the plugin, and what it has told. */
export interface World {
  readonly fake: FakeContext<SessionsConfig>
  readonly db: MemoryDb
  readonly consumer: CollectionConsumer
  readonly usage: UsageLedger
  readonly increments: UsageIncrement[]
  /** One round, `afterMs` after the last one. */
  round(collections: Readonly<Record<string, Partial<Collection>>>, afterMs?: number): Promise<void>
  sessions(): Promise<readonly SessionRow[]>
  health(): Promise<readonly ComponentHealth[]>
  /** What counts of a subscriber, and by source: `[up, down]`. */
  counted(imsi?: ImsiHash): Promise<Readonly<Record<string, readonly [number, number]>>>
  /** Another copy of the plugin over the same store. */
  restarted(): Promise<World>
}

/** Sets the plugin up over a store. */
export async function sessionsWorld(
  db: MemoryDb = memoryDb(MIGRATIONS),
  clock = fakeClock(START_MS),
  config: Partial<SessionsConfig> = {},
): Promise<World> {
  const increments: UsageIncrement[] = []
  const services = new Map<string, object>([
    [
      usageListenerRef.id,
      { counted: async (_: unknown, more: readonly UsageIncrement[]) => void increments.push(...more) },
    ],
  ])
  const fake = fakeContext<SessionsConfig>({
    id: 'sessions',
    config: { source_order: ['gtpu', 'cdr'], unattributed_after: '5m', ...config },
    settings: { collector: { enabled: true } },
    db,
    clock,
    services,
  })
  const instance = await plugin.setup(fake.context)
  await instance.start?.()
  const service = <T>(id: string): T => instance.services?.get(id) as T
  const consumer = service<CollectionConsumer>(collectionConsumerRef.id)
  const usage = service<UsageLedger>(usageLedgerRef.id)
  return {
    fake,
    db,
    consumer,
    usage,
    increments,
    round: async (collections, afterMs = 15_000) => {
      await clock.advance(afterMs)
      const all = Object.entries(collections).map(([source, part]) => [source, collection(part)] as const)
      await consumer.take(new Map(all), new AbortController().signal)
    },
    health: async () => (await instance.health?.()) ?? [],
    sessions: () => SESSIONS.select(db, 'order by id'),
    counted: async (imsi = ANN) => {
      const totals = await usage.totals(imsi, 0, Number.MAX_SAFE_INTEGER)
      const sources = [...totals.bySource].map(([source, each]) => [source, [each.upBytes, each.downBytes]])
      return { counted: [totals.upBytes, totals.downBytes], ...Object.fromEntries(sources) }
    },
    restarted: async () => {
      await fake.dispose()
      return sessionsWorld(db, clock, config)
    },
  }
}

export function collection(part: Partial<Collection>): Collection {
  return { sightings: [], isWhole: true, volumes: [], position: undefined, lost: undefined, ...part }
}

export function sighting(part: Partial<SessionSighting> = {}): SessionSighting {
  return {
    imsi: ANN,
    apn: 'internet',
    plmn: '999-99',
    address: '10.45.0.2',
    prefix: undefined,
    technology: 'lte',
    cell: 'cell-1',
    state: 'active',
    reference: 'r1',
    startedAtMs: undefined,
    seenAtMs: START_MS,
    ...part,
  }
}

/** Octets of an address, as a tap counts them. */
export function reading(upBytes: number, toMs: number, part: Partial<Volume> = {}): Volume {
  return {
    key: { by: 'address', address: '10.45.0.2' },
    upBytes,
    downBytes: upBytes * 10,
    fromMs: START_MS,
    toMs,
    count: { counter: '10.45.0.2', generation: 'g1' },
    isIncomplete: false,
    ...part,
  }
}

/** Octets of a subscriber in a span, as a charging record has them. */
export function charged(upBytes: number, fromMs: number, toMs: number, part: Partial<Volume> = {}): Volume {
  return {
    key: { by: 'imsi', imsi: ANN, apn: 'internet' },
    upBytes,
    downBytes: upBytes * 10,
    fromMs,
    toMs,
    count: 'delta',
    isIncomplete: false,
    ...part,
  }
}
