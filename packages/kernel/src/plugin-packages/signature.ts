import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileHashes } from './content-hash.ts'
import { isSignedWith, keyId, type SigningKey, trustedName } from './signing-key.ts'

/** The file of a package that holds its signature; it covers every other file. */
export const SIGNATURE_FILE = 'signature.json'

/** Whom an operator believes: `plugins` of the configuration. */
export interface SignaturePolicy {
  /** Public keys with names, as `ed25519:… alice`. */
  readonly trust: readonly string[]
  /** What nobody trusted has signed comes in, too. */
  readonly allow_unsigned: boolean
}

const UNSIGNED =
  'it is not signed: svc plugin pack signs it, and svc plugin load --allow-unsigned takes it as it is'

/** `signature.json`: what was signed, and with which key. */
interface Signature {
  readonly format: 1
  /** As in `plugins.trust`, without a name. */
  readonly key: string
  /** SHA-256 (hex) of each file by its name. */
  readonly files: Readonly<Record<string, string>>
  /** Ed25519 over `signedText`, base64url. */
  readonly signature: string
}

/** What a look at the signature of a package gave. */
export type Signed =
  | { readonly kind: 'unsigned' }
  /** Every octet is as it was signed; whether that key is anybody's is another question. */
  | { readonly kind: 'signed'; readonly key: string }
  | { readonly kind: 'broken'; readonly reason: string }

/** A name of a file is as long as a path may be, and a package has few. */
const MOST_CHARACTERS = 1024 * 1024
/** What is signed is this and nothing that was signed for another purpose. */
const PURPOSE = 'steeple plugin package 1'

/** The text of `signature.json` for files with these hashes. */
export function signatureOf(hashes: FileHashes, key: SigningKey): string {
  const files = Object.fromEntries(sorted(hashes))
  const signature: Signature = {
    format: 1,
    key: key.publicKey,
    files,
    signature: key.sign(signedText(hashes)),
  }
  return `${JSON.stringify(signature, undefined, 2)}\n`
}

/** Looks at the signature in a folder whose files have these hashes. Nothing else of the folder is believed before. */
export async function signedBy(dir: string, hashes: FileHashes): Promise<Signed> {
  if (!hashes.has(SIGNATURE_FILE)) return { kind: 'unsigned' }
  const text = await readFile(join(dir, SIGNATURE_FILE), 'utf8')
  const signature = parsed(text)
  if (signature === undefined)
    return { kind: 'broken', reason: `${SIGNATURE_FILE} is none that svc plugin pack made` }
  const others = new Map([...hashes].filter(([name]) => name !== SIGNATURE_FILE))
  const differs = namesThatDiffer(new Map(Object.entries(signature.files)), others)
  if (differs.length > 0)
    return { kind: 'broken', reason: `it is not what was signed; look at ${differs.join(', ')}` }
  if (!isSignedWith(signature.key, signedText(others), signature.signature))
    return {
      kind: 'broken',
      reason: `${SIGNATURE_FILE} does not fit: it was not signed with the key that it names`,
    }
  return { kind: 'signed', key: signature.key }
}

/** Who has signed it, or why it is refused. */
export type Judged = { readonly signedBy: string | undefined } | { readonly reason: string }

/**
 * What a policy makes of a signature: the name of who has signed, undefined for what comes in without, or the reason of a
 * refusal. What was changed after it was signed is refused whatever the policy says.
 */
export function judged(signed: Signed, policy: SignaturePolicy): Judged {
  if (signed.kind === 'broken') return { reason: signed.reason }
  if (signed.kind === 'unsigned')
    return policy.allow_unsigned ? { signedBy: undefined } : { reason: UNSIGNED }
  const name = trustedName(signed.key, policy.trust)
  if (name !== undefined || policy.allow_unsigned) return { signedBy: name }
  return {
    reason: `it is signed with the key ${keyId(signed.key)}, which is not in plugins.trust of the configuration`,
  }
}

/** One line per file, by name, as in a list of sums. */
function signedText(hashes: FileHashes): string {
  const lines = sorted(hashes).map(([name, hash]) => `${hash} ${JSON.stringify(name)}\n`)
  return `${PURPOSE}\n${lines.join('')}`
}

function sorted(hashes: FileHashes): readonly (readonly [string, string])[] {
  return [...hashes].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function namesThatDiffer(signed: FileHashes, there: FileHashes): readonly string[] {
  const names = [...new Set([...signed.keys(), ...there.keys()])].toSorted()
  return names.filter((name) => signed.get(name) !== there.get(name)).slice(0, 5)
}

function parsed(text: string): Signature | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isSignature(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isSignature(value: unknown): value is Signature {
  if (typeof value !== 'object' || value === null) return false
  const { format, key, files, signature, ...others } = value as Partial<Signature>
  if (format !== 1 || Object.keys(others).length > 0) return false
  if (typeof key !== 'string' || !/^ed25519:[A-Za-z0-9_-]{43}$/.test(key)) return false
  if (typeof signature !== 'string' || !/^[A-Za-z0-9_-]{86}$/.test(signature)) return false
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return false
  return Object.values(files).every((hash) => typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash))
}
