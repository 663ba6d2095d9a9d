import { systemPrincipal } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { hasCodes, removeCodesOf } from '../store/forget-store.ts'

/** Forgets the codes of SIMs whose holders are forgotten: matching ids, confirmation codes, and which eUICC had them. */
export function forgetCodes({ context }: EsimParts): void {
  context.on('sim.erase', async ({ subject }) => {
    if (!(await hasCodes(context.db, subject))) return
    await context.mutate(systemPrincipal('esim'), 'esim.erase', subject, async (tx) => {
      tx.audit({ detail: { codes: await removeCodesOf(tx, subject) } })
    })
  })
}
