import type { Labels, Metrics } from '@steeple/contracts'

/** Metrics that keep their values for a test to read. */
export interface FakeMetrics extends Metrics {
  /** The value of a counter or gauge; of a histogram the number of observations. Undefined when never touched. */
  value(name: string, labels?: Labels): number | undefined
  /** Names of everything declared, in order. */
  readonly names: readonly string[]
}

/** Makes metrics; a label that was not declared throws, as it does in the kernel. */
export function fakeMetrics(): FakeMetrics {
  const names: string[] = []
  const values = new Map<string, number>()
  const declare = (name: string, declared: readonly string[] = []): ((labels?: Labels) => string) => {
    names.push(name)
    return (labels = {}) => {
      for (const label of Object.keys(labels)) {
        if (!declared.includes(label)) throw new Error(`the metric ${name} has no label ${label}`)
      }
      return seriesKey(name, labels)
    }
  }
  const add = (key: string, by: number): void => {
    values.set(key, (values.get(key) ?? 0) + by)
  }
  return {
    names,
    value: (name, labels = {}) => values.get(seriesKey(name, labels)),
    counter: (name, _help, labels) => {
      const key = declare(name, labels)
      return { inc: (of, by = 1) => add(key(of), by) }
    },
    gauge: (name, _help, labels) => {
      const key = declare(name, labels)
      return {
        set: (value, of) => {
          values.set(key(of), value)
        },
      }
    },
    histogram: (name, _help, _buckets, labels) => {
      const key = declare(name, labels)
      return { observe: (_value, of) => add(key(of), 1) }
    },
  }
}

function seriesKey(name: string, labels: Labels): string {
  return JSON.stringify([name, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))])
}
