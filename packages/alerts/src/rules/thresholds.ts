import { type Context, type MetricReading, metricsReaderRef, msFromDuration } from '@steeple/contracts'
import type { AlertsConfig, RuleConfig } from '../config.ts'
import { levelOf } from './compare.ts'
import { type Growth, growthMemory } from './growth.ts'
import { type Finding, lookOf, type Rule, type Watch } from './rule.ts'

/** The rules of `alerts.rules` over the metrics of this instance; each series of a metric is a subject of its own. */
export function thresholdWatch(context: Context<AlertsConfig>): Watch {
  const rules = context.config.rules.map((config) => ({ config, rule: ruleOf(config) }))
  const names = [...new Set(rules.map(({ config }) => config.metric))]
  for (const { config } of rules.filter(({ config }) => !isClearOfUse(config)))
    context.log.warn(
      { rule: config.name, threshold: `${config.op} ${config.threshold}`, clear: config.clear },
      'clear of a rule is not on the good side of its threshold and changes nothing',
    )
  const growth = growthMemory()
  return {
    rules: rules.map(({ rule }) => rule),
    looks: async () => {
      if (names.length === 0) return []
      const readings = await context.use(metricsReaderRef).read(names)
      const values = valuesOf(growth, readings, context.clock.monotonicMs())
      return rules.map(({ config, rule }) => {
        const kind = readings.get(config.metric)?.kind ?? 'gauge'
        return lookOf(rule, findingsOf(config, kind, values.get(config.metric)))
      })
    },
  }
}

type Values = ReadonlyMap<string, number>

function valuesOf(
  growth: Growth,
  readings: ReadonlyMap<string, MetricReading>,
  nowMs: number,
): ReadonlyMap<string, Values> {
  const values = new Map([...readings].map(([name, one]) => [name, growth.valuesOf(name, one, nowMs)]))
  growth.sweep()
  return values
}

/** What is compared of each kind of metric, in words. */
const SAID: Readonly<Record<MetricReading['kind'], (value: string) => string>> = {
  gauge: (value) => `is ${value}`,
  counter: (value) => `grows by ${value} a second`,
  histogram: (value) => `is ${value} on average`,
}

function findingsOf(
  { metric, op, threshold, clear }: RuleConfig,
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
function isClearOfUse({ op, threshold, clear }: RuleConfig): boolean {
  if (clear === undefined || clear === threshold) return true
  if (op === '>' || op === '>=') return clear < threshold
  return (op === '<' || op === '<=') && clear > threshold
}

function ruleOf({ name, severity, for: lasts, clear_for: clears }: RuleConfig): Rule {
  const forMs = msFromDuration(lasts) ?? 0
  return { name, severity, forMs, clearMs: clears === undefined ? forMs : (msFromDuration(clears) ?? 0) }
}

/** From here on a fraction says nothing. */
const LARGE = 100_000

/** A number as people read it: six digits are enough of a fraction, and all of those before it are shown. */
export function numberText(value: number): string {
  if (Math.abs(value) >= LARGE) return String(Math.round(value))
  return String(Number(value.toPrecision(6)))
}
