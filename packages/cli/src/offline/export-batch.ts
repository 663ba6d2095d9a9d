import { openOffline, systemClock } from '@steeple/kernel'
import { openSecrets } from '@steeple/secrets'
import type { CardFormat } from '@steeple/sims/offline'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { commandLog } from './command-log.ts'
import { settledHere } from './settled-here.ts'

/** `svc sim export`: unseals the cards of a batch of this machine to standard output, beside a running service too. */
export async function exportBatch(
  terminal: Terminal,
  batchId: string,
  options: PlaceOptions & { readonly format: CardFormat },
): Promise<void> {
  const { homeKeysOf, unsealBatch } = await import('@steeple/sims/offline')
  const settings = await settledHere(terminal, options)
  const dataDir = settings.server.data_dir
  const secrets = openSecrets(dataDir)
  const log = commandLog(terminal)
  const store = await openOffline({ settings, secrets, clock: systemClock(), log, use: 'read' })
  try {
    const homeKeys = homeKeysOf(settings)
    const place = { reader: store.db, vault: store.vault, dataDir, homeKeys }
    terminal.out(await unsealBatch(place, batchId, options.format))
    if (options.format === 'json' && homeKeys.size === 0)
      terminal.err(
        `Without ef_suci_calc_info: the UDM is given no home network key (core is ${settings.core}).\n`,
      )
    terminal.err('These lines hold the keys of the cards. Keep them nowhere but in the card writer.\n')
  } finally {
    await store.close()
  }
}
