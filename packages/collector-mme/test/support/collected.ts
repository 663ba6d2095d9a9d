import type { Clock, Collection, Collector, Context } from '@steeple/contracts'
import { coreInfo, open5gsInfo, open5gsInfoRef } from '@steeple/southbound'
import { fakeContext } from '@steeple/testkit'
import { mmeCollector } from '../../src/plugin.ts'
import { type CollectedCore, collectedCore } from './core.ts'

/** A time of the test's own: walks of a moment ago are shared, however long the machine takes. */
export interface TestClock extends Clock {
  pass(ms: number): void
}

export function testClock(): TestClock {
  let passedMs = 1_000_000
  return {
    nowMs: () => 1_795_341_600_000 + passedMs,
    monotonicMs: () => passedMs,
    pass: (ms) => {
      passedMs += ms
    },
  }
}

/** A collector over a listed core. */
export interface Collected extends AsyncDisposable {
  readonly core: CollectedCore
  readonly clock: TestClock
  readonly collector: Collector
  readonly mismatches: () => readonly [phones: number | undefined, sessions: number | undefined]
  /** Polls after some time. */
  poll(): Promise<Collection>
  reopen(): Collector
}

export interface CollectedOptions {
  /** Whether the driver of the core is there, which knows where its daemons are. */
  readonly hasDriver?: boolean
  readonly core?: string
  readonly urls?: (core: CollectedCore) => Readonly<Record<'mme_url' | 'smf_url' | 'amf_url', string>>
}

export async function collected({
  hasDriver = true,
  core: driverName = 'core_a',
  urls = (at) => ({ mme_url: at.url('mme'), smf_url: at.url('smf'), amf_url: at.url('amf') }),
}: CollectedOptions = {}): Promise<Collected> {
  const core = await collectedCore()
  const clock = testClock()
  const fake = fakeContext({
    config: {},
    id: 'collector-mme',
    settings: { core: driverName, collector: urls(core) },
  })
  const context: Context = { ...fake.context, settings: fake.context.settings, clock }
  if (hasDriver) {
    const places = { generations: ['epc', '5gc'] as const, plmn: '99970', urlOf: core.url }
    const info = coreInfo(clock, context.retiring, () => places)
    fake.services.set(open5gsInfoRef.id, open5gsInfo(info))
  }
  const collector = mmeCollector(context)
  return {
    core,
    clock,
    collector,
    mismatches: () => [mismatch('phone_without_session'), mismatch('session_without_phone')],
    poll: () => {
      clock.pass(120_000)
      return collector.poll(undefined, AbortSignal.timeout(60_000))
    },
    reopen: () => mmeCollector(context),
    [Symbol.asyncDispose]: async () => {
      await fake.dispose()
      await core.close()
    },
  }
  function mismatch(kind: string): number | undefined {
    return fake.metrics.value('svc_collector_mme_mismatches', { kind })
  }
}
