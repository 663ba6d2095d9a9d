import { systemPrincipal } from '@steeple/contracts'
import { offlineTables, rotateVaultAudited } from '@steeple/kernel'
import { failure } from '../command-error.ts'
import { pluginPackages } from '../composition/plugin-packages.ts'
import { jsonText } from '../output/print.ts'
import { type PlaceOptions, pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'
import { withStore } from './with-store.ts'

/**
 * `svc vault rotate`: seals everything under a new key while no service runs on this data directory.
 *
 * Broken off, the next run goes on where it ended. Throws `data_dir_in_use`; `vault_keys_kept` when a replaced key had
 * to stay because values still name it.
 */
export async function rotateVaultHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'exclusive', async (store) => {
    const tables = await offlineTables({
      packages: pluginPackages(),
      pluginsDir: pluginsDirOf(settings),
      policy: () => settings.plugins,
    })
    // Nothing else seals here, so there is nothing to wait for.
    const report = await rotateVaultAudited({
      db: store.db,
      vault: store.vault,
      mutations: store.mutations(),
      principal: systemPrincipal('svc vault rotate'),
      tables,
      settle: async () => {},
    })
    const { keyId, resealed, retired, kept } = report
    if (options.json === true) terminal.out(jsonText({ key_id: keyId, resealed, retired, kept }))
    else
      terminal.out(
        `key ${keyId} is in use; ${resealed} values sealed again, ${retired.length} old keys removed\n`,
      )
    if (kept.length > 0)
      throw failure('vault_keys_kept', 'replaced keys had to stay', {
        details: kept.map((message) => ({ pointer: '', message })),
        hint: 'run svc vault rotate again when that is put right; nothing is lost meanwhile',
      })
  })
}
