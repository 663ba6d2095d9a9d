import type { Settings } from '@steeple/contracts'
import { type OfflineOptions, type OfflineStore, openOffline, systemClock } from '@steeple/kernel'
import { openSecrets, type Secrets } from '@steeple/secrets'
import type { Terminal } from '../terminal.ts'
import { commandLog } from './command-log.ts'

/** Opens the store of this machine for `work`, and closes it however that ends. Throws as `openOffline`. */
export async function withStore<Made>(
  terminal: Terminal,
  settings: Settings,
  use: OfflineOptions['use'],
  work: (store: OfflineStore, secrets: Secrets) => Promise<Made>,
): Promise<Made> {
  const secrets = openSecrets(settings.server.data_dir)
  const store = await openOffline({ settings, secrets, clock: systemClock(), log: commandLog(terminal), use })
  try {
    return await work(store, secrets)
  } finally {
    await store.close()
  }
}
