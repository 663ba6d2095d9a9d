import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { writeNewFile } from './whole-file.ts'

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
export function signatureText(purpose: string, files: SignedFiles['files'], key: SigningKey): string {
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

/** An entry of a list of keys that an operator trusts: a public key and the name of who has it. */
const TRUSTED = /^(ed25519:[A-Za-z0-9_-]{43}) (\S+)$/

/** Whose key it is by a list as `plugins.trust`; undefined: nobody's. */
export function trustedName(publicKey: string, trust: readonly string[]): string | undefined {
  return trust.map((entry) => TRUSTED.exec(entry)).find((found) => found?.[1] === publicKey)?.[2]
}

/** What a plugin, a build or a licence is signed with. */
export interface SigningKey {
  /** The public half: `ed25519:` and 32 octets in base64url. */
  readonly publicKey: string
  /** 64 octets over a text, in base64url; the same each time. RFC 8032 §5.1.6. */
  sign(text: string): string
}

/** A private key is one line of base64 with its armour; what is much larger is something else. */
const MOST_BYTES = 10_000
/** Rights of group and others. */
const FOREIGN = 0o077

/** Makes a private key in a new file (PKCS #8, PEM), which its owner alone can read. Rejects as `open` does when the file exists. */
export async function makeSigningKey(file: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await writeNewFile(file, privateKey.export({ format: 'pem', type: 'pkcs8' }))
  return signingKey(privateKey)
}

/** Reads a private key. Throws a TypeError that says what is wrong with the file, and nothing of what is in it. */
export async function readSigningKey(file: string): Promise<SigningKey> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw new TypeError(`${file} cannot be read; svc plugin key ${file} makes a key there`, { cause })
  })
  try {
    return signingKey(createPrivateKey(await privateText(handle, file)))
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith(file)) throw error
    throw new TypeError(`${file} holds no Ed25519 private key (PEM)`, { cause: error })
  } finally {
    await handle.close()
  }
}

async function privateText(handle: FileHandle, file: string): Promise<string> {
  const status = await handle.stat()
  if (!status.isFile() || status.size > MOST_BYTES) throw new TypeError(`${file} is no key file`)
  if ((status.mode & FOREIGN) !== 0)
    throw new TypeError(`${file} may be read by others; run: chmod 600 ${file}`)
  return await handle.readFile('utf8')
}

function signingKey(privateKey: KeyObject): SigningKey {
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new TypeError('it is another kind of key')
  return {
    publicKey: `${ALGORITHM}${createPublicKey(privateKey).export({ format: 'jwk' }).x}`,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
  }
}
