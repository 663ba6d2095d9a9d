import type { Collector, UsageSample } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { changesNothing, fixtureSuite, honoursAbort, isCount, patient, type WorldFixture } from './common.ts'

/** A collector over a simulated or real source that has seen no traffic yet. */
export interface CollectorFixture extends WorldFixture {
  readonly collector: Collector
  /** One subscriber moves that many octets, all of it visible to the next `poll`. */
  traffic(upBytes: number, downBytes: number): Promise<void>
  /** Restarts the core that the collector reads from. */
  restartCore(): Promise<void>
  /** Ends the collector and gives a new one over the same source, as an upgrade does. */
  reopen(): Promise<Collector>
}

/** Adds up samples as the sessions plugin does: deltas are added, totals replace those of their session. */
class Ledger {
  readonly #totals = new Map<string, { upBytes: number; downBytes: number }>()
  #upBytes = 0
  #downBytes = 0

  add(samples: readonly UsageSample[]): void {
    for (const { kind, imsi, apn, session, upBytes, downBytes } of samples) {
      const key = JSON.stringify([imsi, apn, session])
      const before = kind === 'total' ? (this.#totals.get(key) ?? { upBytes: 0, downBytes: 0 }) : undefined
      this.#upBytes += Math.max(upBytes - (before?.upBytes ?? 0), 0)
      this.#downBytes += Math.max(downBytes - (before?.downBytes ?? 0), 0)
      if (kind === 'total') this.#totals.set(key, { upBytes, downBytes })
    }
  }

  sums(): readonly [number, number] {
    return [this.#upBytes, this.#downBytes]
  }
}

/** Registers the tests that every collector passes. `make` gives a fresh fixture for each test. */
export function collectorConformance(name: string, make: () => Promise<CollectorFixture>): void {
  const collecting = fixtureSuite(`${name}: collector conformance`, make)

  collecting('names its source', async ({ collector }) => {
    assert.match(collector.source, /^[a-z][a-z0-9-]*$/)
  })

  collecting('gives well-formed samples', async ({ collector, traffic }) => {
    await traffic(1_500, 64_000)
    const samples = await collector.poll(patient())
    assert.ok(samples.length > 0, 'traffic must give a sample')
    for (const sample of samples) {
      assert.match(sample.imsi, /^[0-9a-f]{12}$/)
      assert.ok(sample.apn.length > 0 && sample.session.length > 0, 'apn and session must be named')
      assert.ok(isCount(sample.upBytes) && isCount(sample.downBytes), 'octets must be counts')
      assert.ok(isCount(sample.atMs), 'atMs must be ms since the epoch')
      assert.ok(['delta', 'total'].includes(sample.kind))
    }
  })

  collecting('counts every octet once over many polls', async ({ collector, traffic }) => {
    const ledger = new Ledger()
    ledger.add(await collector.poll(patient()))
    for (const bytes of [1, 1_500, 70_000]) {
      await traffic(bytes, bytes * 2)
      ledger.add(await collector.poll(patient()))
      ledger.add(await collector.poll(patient()))
    }
    assert.equal(ledger.sums(), [71_501, 143_002])
  })

  collecting('counts nothing twice when the core restarts', async ({ collector, traffic, restartCore }) => {
    const ledger = new Ledger()
    await traffic(1_000, 2_000)
    ledger.add(await collector.poll(patient()))
    await restartCore()
    ledger.add(await collector.poll(patient()))
    await traffic(10, 20)
    ledger.add(await collector.poll(patient()))
    assert.equal(ledger.sums(), [1_010, 2_020])
  })

  collecting('counts nothing twice when it restarts itself', async ({ collector, traffic, reopen }) => {
    const ledger = new Ledger()
    await traffic(1_000, 2_000)
    ledger.add(await collector.poll(patient()))
    const next = await reopen()
    ledger.add(await next.poll(patient()))
    assert.equal(ledger.sums(), [1_000, 2_000])
    await traffic(10, 20)
    ledger.add(await next.poll(patient()))
    assert.equal(ledger.sums(), [1_010, 2_020])
  })

  collecting('changes nothing outside by polling, and honours an aborted signal', async (fixture) => {
    await fixture.traffic(5, 5)
    await changesNothing(fixture, () => fixture.collector.poll(patient()))
    await honoursAbort(fixture, (signal) => fixture.collector.poll(signal), 'poll')
  })

  collecting.run()
}
