import { createPrivateKey } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import type { RspCurve } from '@steeple/sgp22'
import { ChainError, type EuiccChain } from './certificate.ts'
import { createEuicc, type Euicc } from './euicc.ts'
import type { SavedMemory } from './state.ts'

/** An eUICC as a file holds it: JSON, certificates in base64 (DER), keys in PEM (PKCS #8). Holds keys: mode 0600. */
export interface EuiccFile {
  readonly eid: string
  readonly chains: readonly {
    readonly curve: RspCurve
    readonly ci: string
    readonly eum: string
    readonly euicc: string
    readonly key: string
  }[]
  /** Absent before the first download. */
  readonly memory?: SavedMemory
}

/** An eUICC that is kept in a file. */
export interface KeptEuicc {
  readonly euicc: Euicc
  /** Writes its memory; whole or not at all. */
  save(): Promise<void>
}

/** What a file holds of an eUICC that was just made. */
export function newEuiccFile(eid: string, chains: readonly EuiccChain[]): EuiccFile {
  return {
    eid,
    chains: chains.map((chain) => ({
      curve: chain.curve,
      ci: base64(chain.ciDer),
      eum: base64(chain.eumDer),
      euicc: base64(chain.euiccDer),
      key: chain.euiccKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    })),
  }
}

/** Writes a file for an eUICC, for its owner alone. */
export async function writeEuiccFile(path: string, content: EuiccFile): Promise<void> {
  const fresh = `${path}.new`
  const file = await open(fresh, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(content)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(fresh, path)
}

/** The eUICC out of a file. Throws `ChainError` for what is none. */
export async function openEuiccFile(path: string): Promise<KeptEuicc> {
  const content = contentFrom(await readFile(path, 'utf8'), path)
  const euicc = createEuicc({
    eid: content.eid,
    chains: content.chains.map((chain) => ({
      curve: chain.curve,
      ciDer: octets(chain.ci),
      eumDer: octets(chain.eum),
      euiccDer: octets(chain.euicc),
      euiccKey: createPrivateKey(chain.key),
    })),
    ...(content.memory === undefined ? {} : { saved: content.memory }),
  })
  return { euicc, save: () => writeEuiccFile(path, { ...content, memory: euicc.save() }) }
}

function contentFrom(text: string, path: string): EuiccFile {
  try {
    const read = JSON.parse(text) as Partial<EuiccFile> | null // of our own making; createEuicc checks what counts
    if (typeof read?.eid === 'string' && Array.isArray(read.chains)) return read as EuiccFile
  } catch (cause) {
    throw new ChainError(`${path} is no JSON`, { cause })
  }
  throw new ChainError(`${path} holds no eUICC`)
}

function base64(octetsToShow: Uint8Array): string {
  return Buffer.from(octetsToShow).toString('base64')
}

function octets(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'base64'))
}
