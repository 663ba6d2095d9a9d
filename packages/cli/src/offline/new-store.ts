import { systemPrincipal } from '@steeple/contracts'
import { acceptStoreLoss, permitNewStore, systemClock } from '@steeple/kernel'
import { writeDisarmNote } from '../disarm-note.ts'
import { jsonText } from '../output/print.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'
import { withStore } from './with-store.ts'

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
      `the next start makes a new, empty store in ${store}; it has no SIMs and tokens, and its audit trail starts again\n`,
    )
}

/**
 * `svc store accept`: has the next start go on without answered commits that the store lacks; the audit trail says so. TX is
 * disarmed, since what disarmed it may be lost. Throws
 * `store_invalid` when nothing is known to be lost, `data_dir_in_use`.
 */
export async function acceptStoreHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  const by = systemPrincipal('svc store')
  const disarm = async (): Promise<void> =>
    void (await writeDisarmNote(settings.server.data_dir, `${by.kind}:${by.id}`))
  const lost = await acceptStoreLoss(settings, systemClock(), disarm)
  await withStore(terminal, settings, 'exclusive', async (store, secrets) => {
    await store.mutations().run({
      principal: by,
      action: 'store.accept',
      target: secrets.identity.nodeId,
      owner: 'kernel',
      work: async (tx) => {
        tx.audit({ detail: { lost } })
        return { status: 200 }
      },
    })
  })
  if (options.json === true) terminal.out(jsonText({ accepted: true, lost }))
  else
    terminal.out(`${lost}; the next start goes on without, with TX disarmed, and the audit trail says so\n`)
}
