import type { Context } from '@steeple/contracts'
import type { AlertsConfig } from '../config.ts'
import type { AlertMetrics } from '../metrics.ts'
import { certificateWatch, clockWatch, diskWatch } from './box.ts'
import { componentWatch } from './components.ts'
import { disarmWatch, loadWatch, quotaWatch } from './network.ts'
import type { Watch } from './rule.ts'
import { thresholdWatch } from './thresholds.ts'

/** What is looked at: the built-in rules of contract section 10 but those that are disabled, and those of the configuration. */
export function watchesOf(context: Context<AlertsConfig>, metrics: AlertMetrics): readonly Watch[] {
  const all = [
    componentWatch(context),
    diskWatch(context, metrics),
    certificateWatch(context),
    clockWatch(context),
    loadWatch(context),
    disarmWatch(context),
    quotaWatch(context),
  ]
  const disabled = new Set(context.config.disabled_rules)
  return [...all.map((watch) => without(watch, disabled)), thresholdWatch(context)]
}

function without(watch: Watch, disabled: ReadonlySet<string>): Watch {
  const rules = watch.rules.filter(({ name }) => !disabled.has(name))
  if (rules.length === watch.rules.length) return watch
  return {
    ...watch,
    rules,
    looks: async () =>
      rules.length === 0 ? [] : (await watch.looks()).filter(({ rule }) => !disabled.has(rule.name)),
  }
}
