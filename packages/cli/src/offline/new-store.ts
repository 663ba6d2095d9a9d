import { permitNewStore } from '@steeple/kernel'
import { jsonText } from '../output/print.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'

/** `svc store new`: lets the next start begin with an empty store. Throws `store_invalid` while there is one. */
export async function permitNewStoreHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  const store = permitNewStore(settings)
  if (options.json === true) terminal.out(jsonText({ store, permitted: true }))
  else
    terminal.out(
      `the next start makes a new, empty store in ${store}; its SIMs, tokens and audit trail begin anew\n`,
    )
}
