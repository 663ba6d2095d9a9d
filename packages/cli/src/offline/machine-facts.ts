import type { MachineFacts } from '@steeple/contracts'
import { scrubText, systemClock } from '@steeple/kernel'
import { examine } from '../doctor/doctor.ts'
import { configHere, type PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { ownVersion } from '../version.ts'
import { withStore } from './own-store.ts'

/** What can be known of this machine without its service: the configuration, what the doctor finds, plugins, the head of the audit trail. */
export function machineFacts(terminal: Terminal, options: PlaceOptions): MachineFacts {
  return {
    nowMs: systemClock().nowMs(),
    version: ownVersion(),
    scrub: (text) => scrubText(text),
    config: async () => await configHere(terminal, options),
    checks: async () => await examine(terminal, options),
    plugins: async () => (await configHere(terminal, options)).sections,
    audit: async () => {
      const { settings } = await configHere(terminal, options)
      return await withStore(terminal, settings, 'read', async ({ audit }) => {
        return await audit.list({}, 1, undefined)
      })
    },
  }
}
