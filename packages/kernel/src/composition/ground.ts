import {
  type JudgedClock,
  judgeClock,
  type Machine,
  systemTimers,
  type Timers,
  thisMachine,
} from '@steeple/clock'
import { type Tracer, tracerRef } from '@steeple/contracts'
import { createReasons, joinCluster, observeCluster, type Reasons } from '@steeple/reconcile'
import {
  createMetricsBoard,
  createTracing,
  type MetricsBoard,
  observeProcess,
  type Tracing,
} from '@steeple/telemetry'
import type { KernelOptions } from '../create-kernel.ts'
import { createServiceContainer, type ServiceContainer } from '../plugins/service-container.ts'
import { earliestOf } from './earliest.ts'
import { createLiveSettings, type LiveSettings } from './live-settings.ts'
import { type OpenStore, openStore } from './open-store.ts'

/** What everything else of the kernel stands on. */
export interface Ground {
  readonly clock: JudgedClock
  readonly machine: Machine
  readonly timers: Timers
  readonly store: OpenStore
  /** This instance among those that share the store. */
  readonly cluster: Awaited<ReturnType<typeof joinCluster>>
  readonly settings: LiveSettings
  /** What all schedules hear of. */
  readonly reasons: Reasons
  readonly metrics: MetricsBoard
  readonly tracing: Tracing
  readonly services: ServiceContainer
  /** Ends the measuring of this process. */
  readonly stopObserving: () => void
}

/** Opens the store and joins the other instances. What it opened is closed when it throws; see `createKernel`. */
export async function openGround(options: KernelOptions): Promise<Ground> {
  const { config, secrets, log, timers = systemTimers() } = options
  const clock = judgeClock(options.clock)
  const machine = options.machine ?? thisMachine()
  const { settings } = config
  const reasons = createReasons()
  const clockwork = { clock, machine, earliest: earliestOf(options), moved: reasons.tell }
  const store = await openStore({ settings, secrets, log, ...clockwork })
  const nowMs = (): number => clock.nowMs()
  const joining = joinCluster({ ...store, settings, machine, timers, log, nowMs, secrets })
  const cluster = await joining.catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  cluster.onTerm(reasons.tell)
  const live = createLiveSettings(config, log)
  live.onChange(reasons.tell)
  const metrics = createMetricsBoard(log)
  observeCluster(metrics.kernel, () => cluster.view())
  const tracing = createTracing()
  const services = createServiceContainer(tracing)
  services.onChange((ids) => {
    // As the ref says.
    if (ids.has(tracerRef.id)) tracing.use(services.current(tracerRef.id) as Tracer | undefined)
  })
  return {
    ...{ clock, machine, timers, store, cluster, reasons, metrics, tracing, services },
    settings: live,
    stopObserving: observeProcess(metrics.kernel),
  }
}
