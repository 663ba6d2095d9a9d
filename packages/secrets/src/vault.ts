import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
} from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  isRecord,
  jsonIn,
  type SealedColumns,
  secretsInvalid,
  storeCorrupt,
  type Vault,
} from '@steeple/contracts'
import {
  createKeyFile,
  damaged,
  listKeyFiles,
  readKeyFile,
  removeKeyFile,
  replaceKeyFile,
  requireKeyFile,
} from './key-files.ts'
import { KEY_FILES, SYMMETRIC_KEY_BYTES } from './node-files.ts'

const FILE = 'sealed-tables.json'

/**
 * Every table that ever held sealed values, in `sealed-tables.json` beside the keys.
 *
 * A rotation must know of tables whose plugin is not loaded: a key that their rows need may not be retired.
 */
interface SealedTables {
  all(): readonly SealedColumns[]
  /** Remembers a table, durable before it returns. */
  add(columns: SealedColumns): void
}

/** Opens the list in a keys directory. Throws `secrets_invalid`. */
function openSealedTables(directory: string): SealedTables {
  const bytes = readKeyFile(directory, FILE)
  const tables = new Map(
    bytes === undefined ? [] : parse(directory, bytes).map((entry) => [entry.table, entry]),
  )
  return {
    all: () => [...tables.values()],
    add: ({ table, key, columns }) => {
      const entry = { table, key, columns: [...columns] }
      if (isDeepStrictEqual(tables.get(table), entry)) return
      tables.set(table, entry)
      replaceKeyFile(directory, FILE, Buffer.from(`${JSON.stringify([...tables.values()], undefined, 2)}\n`))
    },
  }
}

function parse(directory: string, bytes: Buffer): readonly SealedColumns[] {
  const list = jsonIn(bytes.toString())
  if (!Array.isArray(list) || !list.every(isSealedColumns)) throw damaged(directory, FILE)
  return list
}

function isSealedColumns(value: unknown): value is SealedColumns {
  const { table, key, columns } = isRecord(value) ? value : {}
  return (
    typeof table === 'string' &&
    typeof key === 'string' &&
    Array.isArray(columns) &&
    columns.every((name) => typeof name === 'string')
  )
}

/** Octets of a key id in a sealed value. */
const KEY_ID_BYTES = 4

/** One key of the vault. `id` is 8 hex characters derived from it. */
interface VaultKey {
  readonly id: string
  readonly key: KeyObject
}

/**
 * The vault keys of a node: the current one in `vault.key`, those it replaced in `vault-<id>.key`.
 *
 * Each file is 32 random bytes. A replaced key stays until nothing is sealed under it any more; as long as there is
 * one, a rotation is unfinished.
 */
export interface Keyring {
  readonly current: VaultKey
  /** Replaced keys that are still on disk. */
  readonly replaced: readonly VaultKey[]
  find(id: string): VaultKey | undefined
  /** The tables whose values may be sealed under these keys. */
  readonly tables: SealedTables
  /** Makes a new current key. Durable before it returns: a kill leaves the old keyring or the new one. */
  replace(): void
  /** Removes a replaced key from the disk. Values sealed under it open until the process ends. */
  retire(id: string): void
}

const REPLACED = /^vault-([0-9a-f]{8})\.key$/

/** Opens the keyring in a keys directory. Throws `secrets_invalid`. */
export function openKeyring(directory: string): Keyring {
  const keys = new Map<string, VaultKey>()
  const add = (name: string): VaultKey => {
    const key = readVaultKey(directory, name)
    keys.set(key.id, key)
    return key
  }
  let current = add(KEY_FILES.vaultKey)
  const onDisk = new Set<string>()
  for (const name of listKeyFiles(directory)) {
    const id = REPLACED.exec(name)?.[1]
    // A copy of the current key is what a rotation leaves that was killed before it had made another.
    if (id === undefined || id === current.id) continue
    if (add(name).id !== id) throw damaged(directory, name)
    onDisk.add(id)
  }
  return {
    get current() {
      return current
    },
    get replaced() {
      return [...keys.values()].filter(({ id }) => onDisk.has(id))
    },
    find: (id) => keys.get(id),
    tables: openSealedTables(directory),
    replace: () => {
      const old = requireKeyFile(directory, KEY_FILES.vaultKey)
      createKeyFile(directory, `vault-${current.id}.key`, old)
      old.fill(0)
      const fresh = freshKey(keys)
      replaceKeyFile(directory, KEY_FILES.vaultKey, fresh)
      fresh.fill(0)
      onDisk.add(current.id)
      current = add(KEY_FILES.vaultKey)
    },
    retire: (id) => {
      if (id === current.id) throw secretsInvalid(`the vault key ${id} is in use`)
      removeKeyFile(directory, `vault-${id}.key`)
      onDisk.delete(id)
    },
  }
}

function freshKey(taken: ReadonlyMap<string, VaultKey>): Buffer {
  for (;;) {
    const bytes = randomBytes(SYMMETRIC_KEY_BYTES)
    if (!taken.has(keyIdOf(bytes))) return bytes
  }
}

function readVaultKey(directory: string, name: string): VaultKey {
  const bytes = requireKeyFile(directory, name)
  if (bytes.length !== SYMMETRIC_KEY_BYTES)
    throw damaged(directory, name, undefined, 'damaged (it must be 32 bytes)')
  const key = { id: keyIdOf(bytes), key: createSecretKey(bytes) }
  bytes.fill(0)
  return key
}

function keyIdOf(bytes: Uint8Array): string {
  return createHash('sha256')
    .update('steeple vault key id')
    .update(bytes)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES)
}

/*
 * A sealed value:
 *
 *   octet 0        version, 1
 *   octets 1-4     key id
 *   octets 5-16    nonce, 96 random bits (NIST SP 800-38D §8.2.2)
 *   octets 17-32   tag, 128 bits
 *   octets 33-     ciphertext, as long as the plain value
 *
 * Additional authenticated data: octets 0-4, then the row id in UTF-8. Random nonces are safe for 2^32 values under
 * one key; rotate before that.
 */
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES
const PREFIX_BYTES: number = HEADER_BYTES + NONCE_BYTES + TAG_BYTES
const ALGORITHM = 'aes-256-gcm'

/** The vault of the kernel: what plugins may use, and what a rotation needs. */
export interface KernelVault extends Vault {
  readonly keyring: Keyring
  /** Every table that was ever registered on this node, also by plugins that are not loaded now. */
  registered(): readonly SealedColumns[]
}

/** Nonces that are drawn at once: a draw for each of them took a tenth of the time of a seal. */
const NONCES_AT_ONCE = 256

/** Gives nonces, each once. */
function createNonces(): () => Buffer {
  const drawn = Buffer.alloc(NONCES_AT_ONCE * NONCE_BYTES)
  let at = drawn.length
  return () => {
    if (at === drawn.length) {
      randomFillSync(drawn)
      at = 0
    }
    at += NONCE_BYTES
    return drawn.subarray(at - NONCE_BYTES, at)
  }
}

/** Seals and opens values under the keys of a keyring. */
export function createVault(keyring: Keyring): KernelVault {
  const nextNonce = createNonces()
  return {
    keyring,
    get keyId() {
      return keyring.current.id
    },
    seal: (plain, rowId) => {
      const { id, key } = keyring.current
      const head = sealedHead(id)
      const nonce = nextNonce()
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(additionalData(head, rowId))
      const ciphertext = cipher.update(plain)
      cipher.final()
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ciphertext])
    },
    open: (sealed, rowId) => {
      const key = keyring.find(sealedKeyId(sealed) ?? '')?.key
      if (key === undefined) throw corrupt(rowId)
      const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(additionalData(sealed.subarray(0, HEADER_BYTES), rowId))
      decipher.setAuthTag(sealed.subarray(HEADER_BYTES + NONCE_BYTES, PREFIX_BYTES))
      const plain = decipher.update(sealed.subarray(PREFIX_BYTES))
      try {
        decipher.final()
      } catch (cause) {
        plain.fill(0)
        throw corrupt(rowId, cause)
      }
      return plain
    },
    register: (columns) => keyring.tables.add(columns),
    registered: () => keyring.tables.all(),
  }
}

/** The id of the key that a value is sealed under; undefined when it is no sealed value. */
export function sealedKeyId(sealed: Uint8Array): string | undefined {
  if (sealed.length < PREFIX_BYTES || sealed[0] !== VERSION) return undefined
  return Buffer.from(sealed.subarray(1, HEADER_BYTES)).toString('hex')
}

/** What every value under a key begins with. */
export function sealedHead(id: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(id, 'hex')])
}

function additionalData(header: Uint8Array, rowId: string): Buffer {
  return Buffer.concat([header, Buffer.from(rowId)])
}

/** A row id begins with its table; the rest may say whose row it is. */
function corrupt(rowId: string, cause?: unknown): Error {
  return storeCorrupt(rowId.split('/')[0] ?? '', { cause })
}
