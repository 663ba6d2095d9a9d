import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createTurns, replaceFile, southboundUnavailable, syncFolder } from '@steeple/contracts'
import { isKey, newKeyPair, publicKeyOf } from '../wireguard/keys.ts'
import type { PeersParts } from './parts.ts'
import type { PeerRow } from './peer-store.ts'

/** The key of this node's interface, and the one that it is going over to. The private ones never leave their files. */
export interface OwnKey {
  /** The file of the present private key. */
  readonly file: string
  /** The present public key; made with its file (0600) where there is none yet. */
  present(): Promise<string>
  /** The public key that comes next; undefined when none does. */
  next(): Promise<string | undefined>
  /** Makes the next key, unless there is one. Gives its public key. */
  begin(): Promise<string>
  /** The next key is the present one, durable when it resolves. Nothing happens when there is none. */
  change(): Promise<void>
}

/** Keys in `wireguard.key` and `wireguard.next` of a directory. Throws `southbound_unavailable` for a file that holds none. */
export function ownKey(dir: string): OwnKey {
  const file = join(dir, 'wireguard.key')
  const nextFile = join(dir, 'wireguard.next')
  let present: string | undefined
  // Requests and the reconciler come at the same time: each file is made once.
  const inTurn = createTurns()
  const make = async (path: string): Promise<string> => {
    const { privateKey, publicKey } = newKeyPair()
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await replaceFile(path, `${privateKey}\n`)
    return publicKey
  }
  return {
    file,
    present: async () =>
      present ??
      (await inTurn(async () => {
        present ??= (await publicKeyIn(file)) ?? (await make(file))
        return present
      })),
    next: () => publicKeyIn(nextFile),
    begin: () => inTurn(async () => (await publicKeyIn(nextFile)) ?? (await make(nextFile))),
    change: () =>
      inTurn(async () => {
        if ((await publicKeyIn(nextFile)) === undefined) return
        await rename(nextFile, file)
        await syncFolder(dir)
        present = undefined
      }),
  }
}

async function publicKeyIn(path: string): Promise<string | undefined> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw southboundUnavailable(`${path} cannot be read; it is this node's WireGuard key`, { cause: error })
  }
  if (!isKey(text)) throw southboundUnavailable(`${path} holds no WireGuard key; remove it for a new one`)
  return publicKeyOf(text)
}

/** Peers whose link would be lost for a while if the key changed now: those that are active and not prepared. */
export function waitingFor(
  { board, members }: PeersParts,
  rows: readonly PeerRow[],
  nextKey: string,
): readonly PeerRow[] {
  const prepared = new Set(
    members
      .list()
      .filter(({ wireguard }) => wireguard?.prepared.includes(nextKey))
      .map(({ nodeId }) => nodeId),
  )
  return rows.filter(
    ({ id, node_id }) => board.active.has(id) && !(node_id !== null && prepared.has(node_id)),
  )
}

/**
 * The second half of a rotation: this node goes over to its next key once every active peer knows of it. Members tell so by
 * themselves; for other peers an operator says it (`force`). Gives whether it did.
 */
export async function changeKeyWhenReady(parts: PeersParts, rows: readonly PeerRow[]): Promise<boolean> {
  const { board, key, context } = parts
  const next = board.ownKeys?.next
  if (next === undefined || waitingFor(parts, rows, next).length > 0) return false
  await key.change()
  context.log.info({ public_key: next }, 'WireGuard key changed')
  return true
}
