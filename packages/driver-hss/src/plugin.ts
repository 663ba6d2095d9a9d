import {
  type BatchResult,
  type Context,
  type HssDriver,
  hssDriverRef,
  type Instance,
  type Plugin,
  type Settings,
  type SubscriberSources,
  simProvisioningRef,
  subscriberSourcesRef,
} from '@steeple/contracts'
import { errorOf } from './batch.ts'
import { hssOf } from './config.ts'
import type { WriteBackDriver } from './driver.ts'
import { outageWatch } from './driver.ts'
import { driverOf } from './drivers.ts'
import { otherClients, otherSource } from './sources/api.ts'
import { documentSource } from './sources/documents.ts'

/** Of one answer of another core's API. */
const MOST_OCTETS = 64 * 1024 * 1024
const IDLE_MS = 5_000
/** How often what the core leaves of removed subscribers is swept, ms. */
const SWEEP_MS = 600_000
/** The longest look, ms. */
const PROBE_LIMIT_MS = 5_000

/** Writes subscribers back into the HSS or UDR of the core. */
export const plugin: Plugin = {
  doctor: ({ settings }) => driverOf(settings).looks(hssOf(settings)),
  setup: async (context: Context): Promise<Instance> => {
    const driver = driverOf(context.settings).make(() => context.settings)
    context.defer(() => driver.close())
    const watch = outageWatch(context, driver.name, () => context.changed(hssDriverRef))
    let lookedMs = Number.NEGATIVE_INFINITY
    const look = async (signal: AbortSignal): Promise<void> => {
      lookedMs = context.clock.monotonicMs()
      const limited = AbortSignal.any([signal, AbortSignal.timeout(PROBE_LIMIT_MS)])
      try {
        watch.answered(await driver.probe(limited))
      } catch (error) {
        signal.throwIfAborted()
        watch.failed(limited.aborted ? 'the subscriber database does not answer' : errorOf(error).message)
      }
    }
    // Calls that go otherwise than the last look are a reason to look again, not only every 15 s.
    let isLooking = false
    const heard = (works: boolean): void => {
      if (isLooking || works !== watch.isAway()) return
      isLooking = true
      look(context.retiring)
        .catch(() => undefined)
        .finally(() => {
          isLooking = false
        })
    }
    const { everyMs, awayMs } = driver.pace
    context.every(
      awayMs,
      async (signal) => {
        const agoMs = context.clock.monotonicMs() - lookedMs
        if (watch.isAway() || agoMs > everyMs - awayMs / 2) await look(signal)
      },
      'each',
    )
    context.every(SWEEP_MS, (signal) => driver.sweep(signal))
    const clients = otherClients({ maxBytes: MOST_OCTETS, idleMs: IDLE_MS })
    context.defer(() => clients.close())
    const sources: SubscriberSources = {
      documents: documentSource,
      other: () => otherSource(hssOf(context.settings), clients),
    }
    return {
      services: new Map<string, object>([
        [hssDriverRef.id, counted(driver, context, heard)],
        [subscriberSourcesRef.id, sources],
      ]),
      health: async () => [watch.health(watch.isAway() && (await isNew(context)))],
      start: async () => {
        // Not awaited: a database that is down must not keep the service from starting.
        look(context.retiring).catch(() => undefined)
      },
    }
  },
}

/** No core is configured, and nobody would miss a database: there is no SIM. */
async function isNew(context: Context): Promise<boolean> {
  const { settings } = context
  // A build may have no driver of a core, and then none of its keys.
  const { core_a, core_b }: Partial<Settings> = settings
  const folders = [core_a?.config_dir, core_b?.config_dir, hssOf(settings).mongo_url]
  if (folders.some((one) => one !== undefined && one !== '')) return false
  const sims = await context.maybe(simProvisioningRef)?.list('', 1)
  return sims?.length === 0
}

/** The driver with its calls counted. `heard` gets whether the other side answered, after each call that was not aborted. */
function counted(
  driver: WriteBackDriver,
  { metrics, clock }: Context,
  heard: (works: boolean) => void,
): HssDriver {
  const subscribers = metrics.counter(
    'svc_driver_hss_subscribers_total',
    'Subscribers written to the HSS, by operation and result.',
    ['operation', 'result'],
  )
  const seconds = metrics.histogram(
    'svc_driver_hss_call_seconds',
    'Duration of calls to the HSS.',
    [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60],
    ['operation'],
  )
  const timed = async <T>(operation: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const from = clock.monotonicMs()
    try {
      const result = await work()
      heard(true)
      return result
    } catch (error) {
      if (!signal.aborted) heard(false)
      throw error
    } finally {
      seconds.observe((clock.monotonicMs() - from) / 1000, { operation })
    }
  }
  const written = async (
    operation: string,
    count: number,
    signal: AbortSignal,
    work: () => Promise<BatchResult>,
  ) => {
    try {
      const result = await timed(operation, signal, work)
      const failed = [...result.values()].filter((error) => error !== undefined).length
      subscribers.inc({ operation, result: 'ok' }, result.size - failed)
      subscribers.inc({ operation, result: 'failed' }, failed)
      return result
    } catch (error) {
      subscribers.inc({ operation, result: 'failed' }, count)
      throw error
    }
  }
  // Each method has its signal last, and what writes has its subscribers first.
  const methods = Object.keys(hssDriverRef.shape ?? {}).flatMap((name) => {
    const method: unknown = Reflect.get(driver, name)
    if (typeof method !== 'function') return []
    const call = (...given: readonly [...unknown[], AbortSignal]): Promise<unknown> => {
      const signal = given.at(-1) as AbortSignal
      const work = () => Reflect.apply(method, driver, given)
      const operation = WRITES[name]?.(given)
      if (operation === undefined) return timed(name, signal, work)
      return written(operation, (given[0] as readonly unknown[]).length, signal, work)
    }
    return [[name, call] as const]
  })
  const { name, sqnStep } = driver
  // What the driver has, of the same shape.
  return { name, ...(sqnStep === undefined ? {} : { sqnStep }), ...Object.fromEntries(methods) } as HssDriver
}

/** What the operations are called in metrics that write. */
const WRITES: Readonly<Record<string, (given: readonly unknown[]) => string>> = {
  upsert: () => 'upsert',
  remove: () => 'remove',
  cancelLocation: () => 'cancel',
  setBlocked: ([, isBlocked]) => (isBlocked === true ? 'block' : 'unblock'),
}
