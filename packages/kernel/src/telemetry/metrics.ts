import { readdirSync } from 'node:fs'
import { totalmem } from 'node:os'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type {
  ComponentHealth,
  Labels,
  Log,
  MetricReading,
  MetricSample,
  Metrics,
  MetricsReader,
} from '@steeple/contracts'
import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client'
import { scrubText } from './log-redaction.ts'

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

const MEBIBYTE = 1_048_576
/** Of what the process may take, what it takes when it is worth a word. */
const SHARE = 0.6

/** An installed plugin that was loaded since the start, and what the process took then. */
export interface LoadedThen {
  readonly id: string
  readonly rssBytes: number
  readonly isGone: boolean
}

/** What the process takes, and may take: the bound of its group (a unit's, a container's), or all of the machine. */
export function memoryNow(): { readonly rssBytes: number; readonly boundBytes: number } {
  const bound = process.constrainedMemory()
  const all = totalmem()
  return { rssBytes: process.memoryUsage.rss(), boundBytes: bound > 0 && bound < all ? bound : all }
}

/**
 * A component that says when the process takes much of what it may, and how much came since which installed plugin was loaded. That is all
 * that can be told: plugins share the memory of the process, and what one that left has taken is given back by a restart alone.
 */
export function memoryHealth(
  { rssBytes, boundBytes }: ReturnType<typeof memoryNow>,
  loaded: readonly LoadedThen[],
): readonly ComponentHealth[] {
  if (rssBytes < boundBytes * SHARE) return []
  const mebibytes = (bytes: number): number => Math.round(bytes / MEBIBYTE)
  const grown = loaded.map(
    ({ id, rssBytes: then, isGone }) =>
      `${mebibytes(rssBytes - then)} MiB since plugin ${id} was loaded${isGone ? ', which is gone: a restart gives back what it took' : ''}`,
  )
  const since = grown.length === 0 ? '' : `; it has grown by ${grown.join(', by ')}`
  const detail = `the service takes ${mebibytes(rssBytes)} of ${mebibytes(boundBytes)} MiB${since}`
  return [{ name: 'memory', kind: 'feature', status: 'degraded', detail }]
}

/** Series that the specification names itself; whichever plugin knows the facts may register them. */
const SPECIFIED = new Set(['svc_sessions_active', 'svc_sim_state', 'svc_attach_total'])

const FORBIDDEN_LABELS = /imsi|msisdn|imei|iccid|subscriber|(^|_)(ue|user|token|eid)(_|$)/

/** Runs of digits as long as an IMSI (TS 23.003 §2.2: at most 15, in practice 14 or 15) or an ICCID. */
const LIKE_IMSI = /\d{13,}/
/** Truncated or whole hashes: 12 hex characters or more in a row. */
const LIKE_HASH = /[0-9a-f]{12,}/i

/** Why a plugin may not register a metric of that name; undefined when it may. */
function problemOfName(plugin: string, name: string): string | undefined {
  if (SPECIFIED.has(name)) return undefined
  const prefix = `svc_${plugin.replaceAll('-', '_')}_`
  return name.startsWith(prefix) && /^[a-z][a-z0-9_]*$/.test(name)
    ? undefined
    : `the name must begin with ${prefix}`
}

/** Whether a label of that name could only hold identifiers of subscribers or people. */
function isForbiddenLabel(label: string): boolean {
  return FORBIDDEN_LABELS.test(label)
}

/** Whether a label's value looks like an IMSI or a hash of one. */
export function isPersonal(value: string): boolean {
  return LIKE_IMSI.test(value) || LIKE_HASH.test(value)
}

/** The metric registries of the kernel and of every live plugin, and their one text. */
export interface MetricsBoard extends MetricsReader {
  /** The kernel's own metrics; any name that begins with `svc_`, `process_` or `nodejs_`. */
  readonly kernel: KernelMetrics
  /** Metrics of one copy of a plugin, of those that its manifest declares. They are not in the text until `publish`. */
  open(plugin: string, declared: readonly string[]): PluginMetrics
  /** The text exposition format 0.0.4 of all that is published. */
  text(): Promise<string>
  /** Grows with each change of what is published: a text made before is of copies that are gone. */
  readonly revision: number
}

/** Metrics of one live copy of a plugin. */
export interface PluginMetrics {
  readonly metrics: Metrics
  /** Puts them into the text in place of those of the copy before. Throws when another plugin has a name of theirs. */
  publish(): void
  /** Takes them out of the text, unless another copy has taken their place. */
  withdraw(): void
}

/** What the kernel itself may register: also values that are asked at each scrape. */
export interface KernelMetrics extends Metrics {
  /** A gauge (or, when asked so, a counter) whose values are computed when the text is asked for. */
  observed(
    name: string,
    help: string,
    labels: readonly string[],
    collect: (set: (value: number, labels?: Labels) => void) => void,
    kind?: 'gauge' | 'counter',
  ): void
}

/** Makes the board with an empty kernel registry. */
export function createMetricsBoard(log: Log): MetricsBoard {
  const kernelRegistry = new Registry()
  const published = new Map<string, Registry>()
  let revision = 0
  const refusals = metricsOf('kernel', kernelRegistry, undefined, log).counter(
    'svc_kernel_metric_refused_total',
    'Updates of metrics that were dropped because a label looked like an identifier of a person',
    ['plugin'],
  )
  const kernel: KernelMetrics = {
    ...metricsOf('kernel', kernelRegistry, undefined, log),
    observed: (name, help, labels, collect, kind = 'gauge') => {
      const spec = { name, help, labelNames: [...labels], registers: [kernelRegistry] }
      if (kind === 'gauge')
        new Gauge({
          ...spec,
          collect() {
            this.reset()
            collect((value, of = {}) => this.set(of, value))
          },
        })
      else
        new Counter({
          ...spec,
          collect() {
            this.reset()
            collect((value, of = {}) => this.inc(of, value))
          },
        })
    },
  }
  return {
    kernel,
    read: (names) => readingsOf([kernelRegistry, ...published.values()], names),
    open: (plugin, declared) => {
      const registry = new Registry()
      return {
        metrics: metricsOf(plugin, registry, { declared, refused: () => refusals.inc({ plugin }) }, log),
        publish: () => {
          refuseTwice(
            plugin,
            registry,
            [...published].filter(([owner]) => owner !== plugin),
          )
          if (published.get(plugin) === registry) return
          published.set(plugin, registry)
          revision += 1
        },
        withdraw: () => {
          if (published.get(plugin) === registry) {
            published.delete(plugin)
            revision += 1
          }
          registry.clear()
        },
      }
    },
    text: async () => {
      const texts = await Promise.all([kernelRegistry, ...published.values()].map((one) => one.metrics()))
      return texts.filter((text) => text.trim() !== '').join('\n')
    },
    get revision() {
      return revision
    },
  }
}

function namesOf(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map((metric) => metric.name)
}

function refuseTwice(
  plugin: string,
  registry: Registry,
  others: readonly (readonly [string, Registry])[],
): void {
  const own = new Set(namesOf(registry))
  for (const [owner, other] of others) {
    const twice = namesOf(other).find((name) => own.has(name))
    if (twice !== undefined) throw new TypeError(`metric ${twice} of ${plugin} belongs to ${owner} already`)
  }
}

/** What holds for a plugin. `refused` is told of each dropped update. */
interface PluginRules {
  readonly declared: readonly string[]
  refused(): void
}

/** `rules` are undefined for the kernel, whose names and labels are its own responsibility. */
function metricsOf(plugin: string, registry: Registry, rules: PluginRules | undefined, log: Log): Metrics {
  const warned = new Set<string>()
  const declare = <M>(
    name: string,
    help: string,
    labels: readonly string[],
    make: (spec: MetricSpec) => M,
  ): M => {
    if (rules !== undefined) {
      const problem = problemOfName(plugin, name) ?? undeclared(rules, name) ?? labels.find(isForbiddenLabel)
      if (problem !== undefined) throw new TypeError(`metric ${name} of ${plugin} is refused: ${problem}`)
    }
    // A plugin may ask for the same metric twice; it is the same one.
    const known = registry.getSingleMetric(name)
    if (known !== undefined) return known as M
    return make({ name, help, labelNames: [...labels], registers: [registry] })
  }
  const allow = (name: string, labels: Labels): boolean => {
    if (rules === undefined || !Object.values(labels).some(isHidden)) return true
    rules.refused()
    // The value itself must not get into the log either.
    if (!warned.has(name))
      log.error({ plugin, metric: name }, 'metric label looks like an identifier; dropped')
    warned.add(name)
    return false
  }
  return {
    counter: (name, help, labels = []) => {
      const counter = declare(name, help, labels, (spec) => new Counter(spec))
      return { inc: (of = {}, by = 1) => void (allow(name, of) && counter.inc(of, by)) }
    },
    gauge: (name, help, labels = []) => {
      const gauge = declare(name, help, labels, (spec) => new Gauge(spec))
      return { set: (value, of = {}) => void (allow(name, of) && gauge.set(of, value)) }
    },
    histogram: (name, help, buckets, labels = []) => {
      const histogram = declare(
        name,
        help,
        labels,
        (spec) => new Histogram({ ...spec, buckets: [...buckets] }),
      )
      return { observe: (value, of = {}) => void (allow(name, of) && histogram.observe(of, value)) }
    },
  }
}

/** Whether a label's value is one that no log line would show, or an object, whose text may be another each time. */
function isHidden(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return true
  const text = String(value)
  return isPersonal(text) || scrubText(text) !== text
}

/** Alert rules can name what a manifest declares, and nothing else. */
function undeclared({ declared }: PluginRules, name: string): string | undefined {
  return declared.includes(name) ? undefined : 'steeple.metrics of its package.json does not name it'
}

interface MetricSpec {
  name: string
  help: string
  labelNames: string[]
  registers: Registry[]
}

/** The metrics of those names that one of the registries has, as they stand. */
async function readingsOf(
  registries: readonly Registry[],
  names: readonly string[],
): Promise<ReadonlyMap<string, MetricReading>> {
  const found = new Map<string, MetricReading>()
  for (const name of names) {
    const metric = registries.map((one) => one.getSingleMetric(name)).find((one) => one !== undefined)
    if (metric !== undefined) found.set(name, await readingOf(name, metric))
  }
  return found
}

async function readingOf(name: string, metric: Metric): Promise<MetricReading> {
  const { type, values } = await metric.get()
  if (metric instanceof Histogram) return { kind: 'histogram', samples: sumsOf(name, values) }
  const samples = values.map(({ labels, value }) => ({ labels: textsOf(labels), value }))
  // prom-client names the kind as the exposition format does.
  return { kind: String(type) === 'counter' ? 'counter' : 'gauge', samples }
}

interface Value {
  readonly value: number
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly metricName?: string
}

/** A histogram's sum and count of each series, without its buckets. */
function sumsOf(name: string, values: readonly Value[]): readonly MetricSample[] {
  const counts = new Map<string, number>()
  for (const { metricName, labels, value } of values)
    if (metricName === `${name}_count`) counts.set(JSON.stringify(labels), value)
  return values
    .filter(({ metricName }) => metricName === `${name}_sum`)
    .map(({ labels, value }) => ({
      labels: textsOf(labels),
      value,
      count: counts.get(JSON.stringify(labels)) ?? 0,
    }))
}

function textsOf(labels: Value['labels']): Labels {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]))
}
