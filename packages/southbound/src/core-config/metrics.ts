import type { Context } from '@steeple/contracts'

/** How an apply ended. */
export type ApplyEnd = 'applied' | 'refused' | 'failed'

/** What is counted of a core's configuration. */
export interface CoreMetrics {
  restarted(daemon: string): void
  ended(result: ApplyEnd): void
}

/** Registers the counters under the plugin's own prefix: `svc_driver_core_a_restarts_total{daemon}`. */
export function coreMetrics({ metrics, plugin }: Context): CoreMetrics {
  const prefix = `svc_${plugin.id.replaceAll('-', '_')}`
  const restarts = metrics.counter(
    `${prefix}_restarts_total`,
    'Restarts of daemons of the core because of their configuration.',
    ['daemon'],
  )
  const applies = metrics.counter(
    `${prefix}_apply_total`,
    'Changes of the configuration of the core, by result.',
    ['result'],
  )
  return {
    restarted: (daemon) => restarts.inc({ daemon }),
    ended: (result) => applies.inc({ result }),
  }
}
