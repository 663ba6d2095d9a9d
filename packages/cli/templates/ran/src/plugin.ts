import { type Plugin, ranDriverRef, transmitterRef, txGateRef } from '@steeple/contracts'
import type { SamplePluginConfig } from './config.ts'
import { launcher } from './radio-process.ts'
import { ranDriver, SUPERVISE_MS } from './ran-driver.ts'

/** Bound on the stop of the radio when the plugin leaves. */
const LEAVE_LIMIT_MS = 4000

/** Supervises one radio process and keeps it off the air while the TX gate is closed. */
export const plugin: Plugin<SamplePluginConfig> = {
  setup: async (context) => {
    const { driver, supervise } = ranDriver({
      gate: context.use(txGateRef),
      launch: launcher(context.config.command),
      clock: context.clock,
      log: context.log,
    })
    context.every(SUPERVISE_MS, supervise)
    return {
      // Before anything else when this copy leaves; the gate permits no start of a copy that has been withdrawn.
      quiesce: () => driver.stop(AbortSignal.timeout(LEAVE_LIMIT_MS)),
      services: new Map<string, object>([
        [ranDriverRef.id, driver],
        [transmitterRef.id, { stop: driver.stop }],
      ]),
      health: async () => {
        const { pid } = await driver.observe(AbortSignal.timeout(1000))
        const detail = pid === undefined ? 'off the air' : `radio process ${pid}`
        return [{ name: context.plugin.id, kind: 'ran', status: 'ok', detail }]
      },
    }
  },
}
