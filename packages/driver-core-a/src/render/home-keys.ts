import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'

/** A home network key of the UDM: what conceals who a phone is. TS 33.501 annex C.3.4. */
export interface HomeKey {
  readonly id: number
  /** 1: profile A (X25519). 2: profile B (P-256). */
  readonly scheme: 1 | 2
  /** The private key. It ends in a file for the UDM, and nowhere else. */
  readonly pem: string
}

/** Where a key is within the configuration directory. */
export function homeKeyPath(id: number): string {
  return `hnet/hnet-${id}.key`
}

/** The keys of the configuration that are there; `missing` names the files of those that are not. */
export async function homeKeys({ server, core_a }: Settings): Promise<{
  readonly keys: readonly HomeKey[]
  readonly missing: readonly string[]
}> {
  const keys: HomeKey[] = []
  const missing: string[] = []
  for (const { id, scheme } of core_a.hnet) {
    const path = join(server.data_dir, 'keys', `hnet-${id}.key`)
    try {
      keys.push({ id, scheme, pem: await readFile(path, 'utf8') })
    } catch {
      missing.push(path)
    }
  }
  return { keys, missing }
}
