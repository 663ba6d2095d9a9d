import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** What a plugin is signed with. */
export interface SigningKey {
  /** The public half: `ed25519:` and 32 octets in base64url. */
  readonly publicKey: string
  /** 64 octets over a text, in base64url; the same each time. RFC 8032 §5.1.6. */
  sign(text: string): string
}

const ALGORITHM = 'ed25519:'
/** An entry of `plugins.trust`: a public key and the name of who has it. */
const TRUSTED = /^(ed25519:[A-Za-z0-9_-]{43}) (\S+)$/
/** A private key is one line of base64 with its armour; what is much larger is something else. */
const MOST_BYTES = 10_000
/** Rights of group and others. */
const FOREIGN = 0o077

/** Makes a private key in a new file (PKCS #8, PEM), which its owner alone can read. Rejects as `open` does when the file exists. */
export async function makeSigningKey(file: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    await handle.sync()
  } finally {
    await handle.close()
  }
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

/** Whether a signature of a text was made with the private half of a public key. False, too, for what is no key. RFC 8032 §5.1.7. */
export function isSignedWith(publicKey: string, text: string, signature: string): boolean {
  try {
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.slice(ALGORITHM.length) },
      format: 'jwk',
    })
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

/** How people tell keys apart: the first 64 bits of the SHA-256 of the public key's text, in groups of four hex digits. */
export function keyId(publicKey: string): string {
  const hex = createHash('sha256').update(publicKey).digest('hex').slice(0, 16)
  return hex.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Whose key it is by `plugins.trust`, as `alice (1f2e-…)`; undefined when nobody's. */
export function trustedName(publicKey: string, trust: readonly string[]): string | undefined {
  for (const entry of trust) {
    const [, key, name] = TRUSTED.exec(entry) ?? []
    if (key === publicKey) return `${name} (${keyId(publicKey)})`
  }
  return undefined
}
