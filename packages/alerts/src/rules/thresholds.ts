import {
  type AlertRule,
  type Context,
  type MetricReading,
  type MetricSample,
  metricsReaderRef,
} from '@steeple/contracts'
import type { AlertsConfig } from '../config.ts'
import { type Finding, levelOf, lookOf, type RuleRow, ruleOf, type Watch } from './rule.ts'

/** Rules over the metrics of this instance; each series of a metric is a subject of its own. */
export function thresholdWatch(context: Context<AlertsConfig>, rows: () => readonly RuleRow[]): Watch {
  for (const config of context.config.rules.filter((config) => !isClearOfUse(config)))
    context.log.warn(
      { rule: config.name, threshold: `${config.op} ${config.threshold}`, clear: config.clear },
      'clear of a rule is not on the good side of its threshold and changes nothing',
    )
  const growth = growthMemory()
  return {
    about: 'metrics',
    looks: async () => {
      const rules = rows().filter(isThreshold)
      const names = [...new Set(rules.map(({ metric }) => metric))]
      if (names.length === 0) return []
      const readings = await context.use(metricsReaderRef).read(names)
      const values = growth(readings, context.clock.monotonicMs())
      return rules.map((config) => {
        const kind = readings.get(config.metric)?.kind ?? 'gauge'
        return lookOf(ruleOf(config), findingsOf(config, kind, values.get(config.metric)))
      })
    },
  }
}

type ThresholdRow = RuleRow & Pick<AlertRule, 'metric' | 'op' | 'threshold'>

function isThreshold(row: RuleRow): row is ThresholdRow {
  return row.metric !== undefined && row.op !== undefined && row.threshold !== undefined
}

type Values = ReadonlyMap<string, number>

/** What is compared of each kind of metric, in words. */
const SAID: Readonly<Record<MetricReading['kind'], (value: string) => string>> = {
  gauge: (value) => `is ${value}`,
  counter: (value) => `grows by ${value} a second`,
  histogram: (value) => `is ${value} on average`,
}

function findingsOf(
  { metric, op, threshold, clear }: ThresholdRow,
  kind: MetricReading['kind'],
  values: Values = new Map(),
): ReadonlyMap<string, Finding> {
  return new Map(
    [...values].map(([series, value]) => [
      series === '' ? metric : `${metric}{${series}}`,
      {
        level: levelOf(value, op, threshold, clear),
        value: Number.isFinite(value) ? value : undefined,
        threshold,
        message: `${metric}${series === '' ? '' : ` (${series})`} ${SAID[kind](numberText(value))} (${op} ${numberText(threshold)})`,
      },
    ]),
  )
}

/** Whether `clear` is a value that a threshold of this kind leaves behind; so is none. */
function isClearOfUse({ op, threshold, clear }: ThresholdRow): boolean {
  if (clear === undefined || clear === threshold) return true
  if (op === '>' || op === '>=') return clear < threshold
  return (op === '<' || op === '<=') && clear > threshold
}

/** From here on a fraction says nothing. */
const LARGE = 100_000

/** A number as people read it: six digits are enough of a fraction, and all of those before it are shown. */
export function numberText(value: number): string {
  if (Math.abs(value) >= LARGE) return String(Math.round(value))
  return String(Number(value.toPrecision(6)))
}

/** Over how long growth is measured, ms. */
const WINDOW_MS = 60_000

interface LastValue {
  readonly atMs: number
  readonly value: number
  readonly count: number
}

/**
 * Remembers what counters and histograms have shown. It gives the value of each series by its metric: of a gauge what it shows,
 * of a counter its growth per second in the last minute, of a histogram the mean of what was observed in the last minute; NaN
 * while that is not known: at the first look, or when nothing came. Series that are gone are forgotten.
 */
function growthMemory(): (
  readings: ReadonlyMap<string, MetricReading>,
  monotonicMs: number,
) => ReadonlyMap<string, Values> {
  let memory = new Map<string, readonly LastValue[]>()
  return (readings, atMs) => {
    const seen: typeof memory = new Map()
    const shown = (name: string, kind: MetricReading['kind'], sample: MetricSample): number => {
      if (kind === 'gauge') return sample.value
      const key = `${name}{${seriesName(sample.labels)}}`
      const now: LastValue = { atMs, value: sample.value, count: sample.count ?? 0 }
      const before = memory.get(key) ?? []
      const last = before.at(-1)
      // It has begun again: what it showed before says nothing.
      const isNew = last !== undefined && (now.value < last.value || now.count < last.count)
      const kept = isNew ? [] : withinWindow(before, atMs)
      seen.set(key, [...kept, now])
      const [first] = kept
      return first === undefined || first.atMs === atMs ? Number.NaN : growthBetween(kind, first, now)
    }
    const values = [...readings].map(
      ([name, { kind, samples }]) =>
        [
          name,
          new Map(samples.map((one) => [seriesName(one.labels), shown(name, kind, one)] as const)),
        ] as const,
    )
    memory = seen
    return new Map(values)
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

function growthBetween(kind: 'counter' | 'histogram', first: LastValue, now: LastValue): number {
  const more = now.value - first.value
  if (kind === 'counter') return more / ((now.atMs - first.atMs) / 1_000)
  return more / (now.count - first.count)
}
