import { type Context, type MetricReading, metricsReaderRef, msFromDuration } from '@steeple/contracts'
import type { AlertsConfig, RuleConfig } from '../config.ts'
import { levelOf } from './compare.ts'
import { type Growth, growthMemory } from './growth.ts'
import { type Finding, lookOf, type Rule, type Watch } from './rule.ts'

/** The rules of `alerts.rules` over the metrics of this instance; each series of a metric is a subject of its own. */
export function thresholdWatch(context: Context<AlertsConfig>): Watch {
  const rules = context.config.rules.map((config) => ({ config, rule: ruleOf(config) }))
  const names = [...new Set(rules.map(({ config }) => config.metric))]
  const growth = growthMemory()
  return {
    rules: rules.map(({ rule }) => rule),
    looks: async () => {
      if (names.length === 0) return []
      const readings = await context.use(metricsReaderRef).read(names)
      const values = valuesOf(growth, readings, context.clock.monotonicMs())
      return rules.map(({ config, rule }) => lookOf(rule, findingsOf(config, values.get(config.metric))))
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

function findingsOf(config: RuleConfig, values: Values = new Map()): ReadonlyMap<string, Finding> {
  const { metric, op, threshold, clear } = config
  return new Map(
    [...values].map(([series, value]) => [
      series === '' ? metric : `${metric}{${series}}`,
      {
        level: levelOf(value, op, threshold, clear),
        value: Number.isFinite(value) ? value : undefined,
        threshold,
        message: `${metric}${series === '' ? '' : ` (${series})`} is ${numberText(value)}: ${op} ${numberText(threshold)}`,
      },
    ]),
  )
}

function ruleOf({ name, severity, for: lasts, clear_for: clears }: RuleConfig): Rule {
  const forMs = msFromDuration(lasts) ?? 0
  return { name, severity, forMs, clearMs: clears === undefined ? forMs : (msFromDuration(clears) ?? 0) }
}

/** A number as people read it: six digits are enough of a measurement. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)))
}
