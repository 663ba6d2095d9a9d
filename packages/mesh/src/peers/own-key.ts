import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createTurns, replaceFile, southboundUnavailable, syncFolder } from '@steeple/contracts'
import { isKey, newKeyPair, publicKeyOf } from '../wireguard/keys.ts'

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
