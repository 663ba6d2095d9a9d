import type { Outcome, Reconciler } from '@steeple/contracts'
import { type FakeClock, fakeClock } from '@steeple/testkit'
import { ReconcileEngine } from '../../src/reconcile/reconcile-engine.ts'
import { createMetricsBoard, type MetricsBoard } from '../../src/telemetry/metrics.ts'
import { createTestLog, type Line } from './test-log.ts'

export interface EngineFixture {
  readonly clock: FakeClock
  readonly engine: ReconcileEngine
  readonly metrics: MetricsBoard
  readonly lines: Line[]
}

/** An engine on a fake clock. Backoff and resync have no jitter: `random` is the middle, or what is given. */
export function engineFixture(random: () => number = () => 0): EngineFixture {
  const clock = fakeClock()
  const lines: Line[] = []
  const log = createTestLog(lines)
  const metrics = createMetricsBoard(log)
  const engine = new ReconcileEngine({ clock, timers: clock, log, metrics: metrics.kernel, random })
  return { clock, engine, metrics, lines }
}

export interface Scripted extends Reconciler {
  /** The keys of each call so far. */
  readonly calls: (readonly string[])[]
  listed: readonly string[]
  /** What the next calls answer; `converged` for all when absent. */
  answer: Reconciler['reconcile']
}

export function scripted(resource: string, more: Partial<Reconciler> = {}): Scripted {
  const made: Scripted = {
    resource,
    resyncMs: 600_000,
    ...more,
    calls: [],
    listed: [],
    answer: async () => new Map(),
    keys: async () => made.listed,
    reconcile: async (keys, signal) => {
      made.calls.push(keys)
      return await made.answer(keys, signal)
    },
  }
  return made
}

export function all(keys: readonly string[], outcome: Outcome): ReadonlyMap<string, Outcome> {
  return new Map(keys.map((key) => [key, outcome]))
}
