import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { KernelMetrics } from './metrics.ts'

/** How often the delay of the event loop is sampled. Ten wake-ups a second, in native code. */
const SAMPLE_MS = 100
const NS_PER_S = 1e9
const US_PER_S = 1e6

/**
 * Metrics of the process: processor, memory, open files, event loop. Names as Prometheus clients use them.
 *
 * The event loop's lag is that since the last scrape. Returns what stops its sampling.
 */
export function observeProcess(metrics: KernelMetrics): () => void {
  const startedS = performance.timeOrigin / 1000
  const lag = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  lag.enable()
  let busy = performance.eventLoopUtilization()

  const gauge = (name: string, help: string, read: () => number | undefined): void =>
    metrics.observed(name, help, [], (set) => {
      const value = read()
      if (value !== undefined && Number.isFinite(value)) set(value)
    })

  metrics.observed(
    'process_cpu_seconds_total',
    'Processor time of the process, user and system',
    [],
    (set) => {
      const { user, system } = process.cpuUsage()
      set((user + system) / US_PER_S)
    },
    'counter',
  )
  gauge('process_start_time_seconds', 'Start of the process, seconds since the epoch', () => startedS)
  gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  gauge('process_open_fds', 'Open file descriptors', openFiles)
  gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed)
  gauge('nodejs_eventloop_utilization_ratio', 'Share of time in which the event loop was busy', () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, busy)
    busy = now
    return utilization
  })
  metrics.observed(
    'nodejs_eventloop_lag_seconds',
    'Delay of the event loop beyond its timers since the last scrape',
    ['stat'],
    (set) => {
      const seconds = (ns: number): number => Math.max(0, ns / NS_PER_S - SAMPLE_MS / 1000)
      if (lag.count > 0) {
        set(seconds(lag.percentile(50)), { stat: 'p50' })
        set(seconds(lag.percentile(99)), { stat: 'p99' })
        set(seconds(lag.max), { stat: 'max' })
      }
      lag.reset()
    },
  )
  return () => lag.disable()
}

/** Undefined where the system has no /proc. */
function openFiles(): number | undefined {
  try {
    // The directory's own descriptor is one of them.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
