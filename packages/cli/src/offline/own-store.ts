import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirInUse, isServiceError, type Log, type Settings } from '@steeple/contracts'
import { type OfflineOptions, type OfflineStore, openOffline, systemClock } from '@steeple/kernel'
import { openSecrets, type Secrets } from '@steeple/secrets'
import { failure } from '../command-error.ts'
import { type PlaceOptions, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'

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

/** The log of a command: what someone must act on goes to standard error, the rest is left out. */
export function commandLog(terminal: Terminal): Log {
  const say = (_facts: object, message: string): void => terminal.err(`svc: ${message}\n`)
  return { debug: () => {}, info: () => {}, warn: say, error: say }
}

/**
 * The settings that the service would run with here, once a restore that was decided is complete: a command that works on
 * the files of a node sees, and changes, what the next start serves. Throws `config_invalid`, `restore_under_way` while a
 * service is about to complete it, and as `completeRestore`.
 */
export async function settledHere(
  terminal: Terminal,
  options: PlaceOptions,
  /** The command makes the node's keys: that they are not there yet is no fault. */
  makesKeys = false,
): Promise<Settings> {
  const { completeRestore, isRestorePending } = await import('@steeple/kernel')
  const hasKeys = (dataDir: string): boolean => makesKeys || existsSync(join(dataDir, 'keys', 'node.key'))
  const settings = await settingsHere(
    terminal,
    options,
    (dataDir) => isRestorePending(dataDir) || hasKeys(dataDir),
  )
  if (!isRestorePending(settings.server.data_dir)) return settings
  const kept = await completeRestore(settings).catch((error: unknown) => {
    if (!isServiceError(error) || error.code !== dataDirInUse.code) throw error
    throw failure(
      'restore_under_way',
      'a restore was decided, and the service that runs here is about to complete it',
      {
        hint: 'try again in a moment',
        cause: error,
      },
    )
  })
  if (kept !== undefined)
    terminal.err(`the restore that was decided is complete now; what was before is in ${kept}\n`)
  // What came may have a say in the settings.
  return await settingsHere(terminal, options, hasKeys)
}
