import type { MachineFacts } from '@steeple/contracts'
import { openOffline, scrubText, systemClock } from '@steeple/kernel'
import { openSecrets } from '@steeple/secrets'
import { examine } from '../doctor/doctor.ts'
import { configHere, type PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { ownVersion } from '../version.ts'
import { commandLog } from './command-log.ts'

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
      const secrets = openSecrets(settings.server.data_dir)
      const log = commandLog(terminal)
      const store = await openOffline({ settings, secrets, clock: systemClock(), log, use: 'read' })
      try {
        return await store.audit.list({}, 1, undefined)
      } finally {
        await store.close()
      }
    },
  }
}
