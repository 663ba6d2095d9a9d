import type { Context } from '@steeple/contracts'

/** Registers the counter under the plugin's own prefix, `svc_driver_core_a_restarts_total{daemon}`; gives what counts. */
export function restartCounter({ metrics, plugin }: Context): (daemon: string) => void {
  const restarts = metrics.counter(
    `svc_${plugin.id.replaceAll('-', '_')}_restarts_total`,
    'Restarts of daemons of the core by this service, those of a roll-back included.',
    ['daemon'],
  )
  return (daemon) => restarts.inc({ daemon })
}
