import { createPublicKey, verify } from 'node:crypto'

/** Files that somebody has signed with an Ed25519 key: a plugin package, a build. */
export interface SignedFiles {
  /** The public key, `ed25519:` and 32 octets in base64url, as operators name the keys that they trust. */
  readonly key: string
  /** SHA-256 (hex) of the content of each file, by its name in the folder. */
  readonly files: ReadonlyMap<string, string>
  /** 64 octets, base64url. RFC 8032 §5.1.6. */
  readonly signature: string
}

const ALGORITHM = 'ed25519:'
/** A name of a file is as long as a path may be; a build has some thousand. */
const MOST_CHARACTERS = 1024 * 1024

/** The text of a file beside the others that holds their signature. What was signed for one purpose says nothing for another. */
export function signatureText(
  purpose: string,
  files: SignedFiles['files'],
  key: { readonly publicKey: string; sign(text: string): string },
): string {
  const signature = {
    format: 1,
    key: key.publicKey,
    files: Object.fromEntries(sorted(files)),
    signature: key.sign(signedText(purpose, files)),
  }
  return `${JSON.stringify(signature, undefined, 2)}\n`
}

/** What `signatureText` wrote; undefined for any other text. Nothing of it is believed before `signatureHolds`. */
export function readSignature(text: string): SignedFiles | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isSignature(value) ? { ...value, files: new Map(Object.entries(value.files)) } : undefined
  } catch {
    return undefined
  }
}

/** Whether the files were signed for that purpose with the key that is named. Whether anybody trusts the key is another question. */
export function signatureHolds(purpose: string, { key, files, signature }: SignedFiles): boolean {
  try {
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: key.slice(ALGORITHM.length) },
      format: 'jwk',
    })
    return verify(
      null,
      Buffer.from(signedText(purpose, files)),
      publicKey,
      Buffer.from(signature, 'base64url'),
    )
  } catch {
    return false
  }
}

/** One line per file, by name, as in a list of sums. */
function signedText(purpose: string, files: SignedFiles['files']): string {
  const lines = sorted(files).map(([name, hash]) => `${hash} ${JSON.stringify(name)}\n`)
  return `${purpose}\n${lines.join('')}`
}

function sorted(files: SignedFiles['files']): readonly (readonly [string, string])[] {
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

interface Written {
  readonly format: 1
  readonly key: string
  readonly files: Readonly<Record<string, string>>
  readonly signature: string
}

function isSignature(value: unknown): value is Written {
  if (typeof value !== 'object' || value === null) return false
  const { format, key, files, signature, ...others } = value as Partial<Written>
  if (format !== 1 || Object.keys(others).length > 0) return false
  if (typeof key !== 'string' || !/^ed25519:[A-Za-z0-9_-]{43}$/.test(key)) return false
  if (typeof signature !== 'string' || !/^[A-Za-z0-9_-]{86}$/.test(signature)) return false
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return false
  return Object.values(files).every((hash) => typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash))
}
