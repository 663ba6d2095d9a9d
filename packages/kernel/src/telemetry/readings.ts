import type { Labels, MetricReading, MetricSample } from '@steeple/contracts'
import { Histogram, type Metric, type Registry } from 'prom-client'

/** The metrics of those names that one of the registries has, as they stand. */
export async function readingsOf(
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
