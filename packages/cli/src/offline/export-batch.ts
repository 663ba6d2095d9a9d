import type { CardFormat } from '@steeple/sims/offline'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'
import { withStore } from './with-store.ts'

/** `svc sim export`: unseals the cards of a batch of this machine to standard output, beside a running service too. */
export async function exportBatch(
  terminal: Terminal,
  batchId: string,
  options: PlaceOptions & { readonly format: CardFormat },
): Promise<void> {
  const { homeKeysOf, unsealBatch } = await import('@steeple/sims/offline')
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'read', async (store) => {
    const homeKeys = homeKeysOf(settings)
    const place = { reader: store.db, vault: store.vault, dataDir: settings.server.data_dir, homeKeys }
    terminal.out(await unsealBatch(place, batchId, options.format))
    if (options.format === 'json' && homeKeys.size === 0)
      terminal.err(
        `Without ef_suci_calc_info: the UDM is given no home network key (core is ${settings.core}).\n`,
      )
    terminal.err('These lines hold the keys of the cards. Keep them nowhere but in the card writer.\n')
  })
}
