import type { MetricReading, MetricSample } from '@steeple/contracts'

/** Over how long growth is measured, ms. */
const WINDOW_MS = 60_000

interface LastValue {
  readonly atMs: number
  readonly value: number
  readonly count: number
}

/** Values that a threshold can be compared with. */
export interface Growth {
  /**
   * The value of each series: of a gauge what it shows, of a counter its growth per second in the last minute, of a histogram
   * the mean of what was observed in the last minute. NaN while that is not known: at the first look, or when nothing came.
   * `monotonicMs` never goes back.
   */
  valuesOf(name: string, reading: MetricReading, monotonicMs: number): ReadonlyMap<string, number>
  /** Forgets series that were not asked for since the last call: what is gone is not kept. */
  sweep(): void
}

/** Remembers what counters and histograms have shown. */
export function growthMemory(): Growth {
  const memory = new Map<string, readonly LastValue[]>()
  let asked = new Set<string>()
  const grown = (
    name: string,
    sample: MetricSample,
    nowMs: number,
  ): readonly [LastValue, LastValue] | undefined => {
    const key = `${name}{${seriesName(sample.labels)}}`
    asked.add(key)
    const now: LastValue = { atMs: nowMs, value: sample.value, count: sample.count ?? 0 }
    const before = memory.get(key) ?? []
    const last = before.at(-1)
    // It has begun again: what it showed before says nothing.
    const isNew = last !== undefined && (now.value < last.value || now.count < last.count)
    const kept = isNew ? [] : withinWindow(before, nowMs)
    memory.set(key, [...kept, now])
    const [first] = kept
    return first === undefined || first.atMs === nowMs ? undefined : [first, now]
  }
  return {
    valuesOf: (name, { kind, samples }, nowMs) =>
      new Map(
        samples.map((sample) => {
          if (kind === 'gauge') return [seriesName(sample.labels), sample.value]
          const pair = grown(name, sample, nowMs)
          return [seriesName(sample.labels), pair === undefined ? Number.NaN : growthBetween(kind, pair)]
        }),
      ),
    sweep: () => {
      for (const key of memory.keys()) if (!asked.has(key)) memory.delete(key)
      asked = new Set()
    },
  }
}

/** The labels of a series as text, the same whatever their order; empty for one without labels. */
export function seriesName(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels)
  if (names.length > 1) names.sort()
  return names.map((name) => `${name}=${JSON.stringify(labels[name])}`).join(', ')
}

/** What lies within the window, and the newest one before it: growth is measured over the whole of it. */
function withinWindow(seen: readonly LastValue[], nowMs: number): readonly LastValue[] {
  const first = seen.findIndex(({ atMs }) => atMs > nowMs - WINDOW_MS)
  if (first === -1) return seen.slice(-1)
  return first <= 1 ? seen : seen.slice(first - 1)
}

function growthBetween(kind: 'counter' | 'histogram', [first, now]: readonly [LastValue, LastValue]): number {
  const more = now.value - first.value
  if (kind === 'counter') return more / ((now.atMs - first.atMs) / 1_000)
  return more / (now.count - first.count)
}
