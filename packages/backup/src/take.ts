import { type Context, nodeIdentityRef, nodeStateRef, type Principal } from '@steeple/contracts'
import { packState } from './archive-process.ts'

/** `svc-backup-<node>-<time>.tar.gz`, with `.enc` behind it for an encrypted one. The time is UTC. */
export function backupName(node: string, takenAtMs: number, isEncrypted: boolean): string {
  const time = new Date(takenAtMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  return `${beginningFor(node)}${time}.tar.gz${isEncrypted ? '.enc' : ''}`
}

const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.gz(\.enc)?$/

/** When a backup of a node was taken by its name, ms since the epoch; undefined for another file, or of another node. */
export function takenAt(name: string, node: string): number | undefined {
  const beginning = beginningFor(node)
  if (!name.startsWith(beginning)) return undefined
  const parts = TIME.exec(name.slice(beginning.length))
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second] = parts.map(Number)
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
}

function beginningFor(node: string): string {
  return `svc-backup-${node.replaceAll(/[^A-Za-z0-9._-]+/g, '-')}-`
}

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
