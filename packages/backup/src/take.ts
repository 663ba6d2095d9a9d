import { type Context, nodeIdentityRef, nodeStateRef, type Principal } from '@steeple/contracts'
import { packState } from './archive-process.ts'

/** Says in the audit trail who takes a backup, before it is taken: it is in it. */
export async function auditBackup(
  context: Context,
  principal: Principal,
  detail: { readonly encrypted: boolean; readonly keys: boolean },
): Promise<void> {
  const { nodeId } = context.use(nodeIdentityRef)
  await context.mutate(principal, 'backup.create', nodeId, async (tx) => tx.audit({ detail }))
}

/** The octets of a backup of this moment; keys are in it when it is encrypted. Nothing is left behind when it ends. */
export async function* takeBackup(
  context: Context,
  passphrase: Buffer | undefined,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const state = await context.use(nodeStateRef).capture({ withKeys: passphrase !== undefined, signal })
  try {
    yield* packState(state, passphrase, signal)
  } finally {
    await state.release()
  }
}
