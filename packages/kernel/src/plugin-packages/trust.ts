import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import {
  readSignature,
  type SignedFiles,
  type SigningKey,
  signatureHolds,
  signatureText,
  trustedName,
} from '@steeple/contracts'
import { createKeptMap, type KeptMap } from './kept-states.ts'

/** How people tell keys apart: the first 64 bits of the SHA-256 of the public key's text, in groups of four hex digits. */
export function keyId(publicKey: string): string {
  const hex = hash('sha256', publicKey).slice(0, 16)
  return hex.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Readable by all: hashes are no secret, and a command of root must not hide them from the service. */
const READABLE = 0o644

/** SHA-256 (hex) of the content of each file, by its name in the folder. */
export type FileHashes = SignedFiles['files']

/** SHA-256 (hex) of some bytes. */
export function sha256(bytes: Uint8Array): string {
  return hash('sha256', bytes)
}

/** The hashes of files in `dir`. */
export async function hashesOf(dir: string, files: readonly string[]): Promise<FileHashes> {
  const hashes = new Map<string, string>()
  for (const name of files) hashes.set(name, sha256(await readFile(join(dir, name))))
  return hashes
}

/** SHA-256 (hex) over names and contents: `<hash of content> <name>` line by line, by name. */
export function contentHash(hashes: FileHashes): string {
  const lines = [...hashes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hash]) => `${hash} ${JSON.stringify(name)}\n`)
  return sha256(Buffer.from(lines.join('')))
}

/**
 * What each installed folder held when it was installed, or first seen, by the folder's name: its `contentHash`, and after a
 * blank `UNDER_SETTING` where it came in by nothing but `plugins.allow_unsigned`.
 */
export function createContentRecord(pluginsDir: string | undefined): KeptMap<string> {
  return createKeptMap(pluginsDir, 'contents.json', (value) => typeof value === 'string', {
    mode: READABLE,
  })
}

/** It is loaded for as long as the configuration allows what nobody has signed. */
const UNDER_SETTING = 'while-unsigned-is-allowed'

export function recordText(hash: string, isUnderSetting: boolean): string {
  return isUnderSetting ? `${hash} ${UNDER_SETTING}` : hash
}

/** What an entry of the record says; undefined without one. */
export function recordOf(
  text: string | undefined,
): { readonly hash: string; readonly isUnderSetting: boolean } | undefined {
  if (text === undefined) return undefined
  const [hash = '', condition] = text.split(' ')
  return { hash, isUnderSetting: condition === UNDER_SETTING }
}

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

/** What a look at the signature of a package gave. */
export type Signed =
  | { readonly kind: 'unsigned' }
  /** Every octet is as it was signed; whether that key is anybody's is another question. */
  | { readonly kind: 'signed'; readonly key: string }
  | { readonly kind: 'broken'; readonly reason: string }

/** What is signed is this and nothing that was signed for another purpose. */
const PURPOSE = 'steeple plugin package 1'

/** The text of `signature.json` for files with these hashes. */
export function signatureOf(hashes: FileHashes, key: SigningKey): string {
  return signatureText(PURPOSE, hashes, key)
}

/** Looks at the signature in a folder whose files have these hashes. Nothing else of the folder is believed before. */
export async function signedBy(dir: string, hashes: FileHashes): Promise<Signed> {
  if (!hashes.has(SIGNATURE_FILE)) return { kind: 'unsigned' }
  const text = await readFile(join(dir, SIGNATURE_FILE), 'utf8')
  const signature = readSignature(text)
  if (signature === undefined)
    return { kind: 'broken', reason: `${SIGNATURE_FILE} is none that svc plugin pack made` }
  const others = new Map([...hashes].filter(([name]) => name !== SIGNATURE_FILE))
  const differs = namesThatDiffer(signature.files, others)
  if (differs.length > 0)
    return { kind: 'broken', reason: `it is not what was signed; look at ${differs.join(', ')}` }
  if (!signatureHolds(PURPOSE, signature))
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
  if (name !== undefined) return { signedBy: `${name} (${keyId(signed.key)})` }
  if (policy.allow_unsigned) return { signedBy: undefined }
  return {
    reason: `it is signed with the key ${keyId(signed.key)}, which is not in plugins.trust of the configuration`,
  }
}

function namesThatDiffer(signed: FileHashes, there: FileHashes): readonly string[] {
  const names = [...new Set([...signed.keys(), ...there.keys()])].toSorted()
  return names.filter((name) => signed.get(name) !== there.get(name)).slice(0, 5)
}

/** The first 8 hex characters of the SHA-256 of an entry file: part of the folder's name, part of what is checked at each load. */
export function sha8(bytes: Uint8Array): string {
  return sha256(bytes).slice(0, 8)
}

/** Rights of group and others to change something. */
const FOREIGN_WRITE = 0o022
/** In such a directory (`/tmp`) nobody renames or removes what belongs to somebody else. */
const STICKY = 0o1000
const ROOT = 0

/**
 * Why what lies in the plugins directory must not be trusted: somebody else owns the directory or one above it, or may
 * change what is in there. The code in it runs with all rights of the service. Undefined: it may be trusted.
 */
export async function untrustedPlace(dir: string): Promise<string | undefined> {
  const status = await lstat(dir)
  if (status.isSymbolicLink()) return `${dir} is a symbolic link; make it a folder`
  const own = problemOf(dir, status)
  if (own !== undefined) return own
  for (const path of new Set([...above(resolve(dir)), ...above(await realpath(dir))])) {
    const problem = parentProblem(path, await lstat(path))
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Every file of a plugin's folder by its name in it, sorted; or why the folder must not be trusted. */
export async function trustedFiles(dir: string): Promise<readonly string[] | { readonly reason: string }> {
  const files: string[] = []
  const status = await lstat(dir)
  if (!status.isDirectory()) return { reason: 'the folder is a link or no folder' }
  const own = problemOf(dir, status)
  if (own !== undefined) return { reason: own }
  for (const name of await readdir(dir, { recursive: true })) {
    const path = join(dir, name)
    const inside = await lstat(path)
    if (!inside.isDirectory() && !inside.isFile()) return { reason: `${name} is a link or no file` }
    const problem = problemOf(path, inside)
    if (problem !== undefined) return { reason: problem }
    if (inside.isFile()) files.push(name.split(sep).join('/'))
  }
  return files.toSorted()
}

function above(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [] : [parent, ...above(parent)]
}

/** A link is as good as its owner; where it leads is looked at by itself. */
function parentProblem(path: string, status: Stats): string | undefined {
  if (status.isSymbolicLink()) return ownerProblem(path, status)
  return (status.mode & STICKY) === 0 ? problemOf(path, status) : ownerProblem(path, status)
}

function problemOf(path: string, status: Stats): string | undefined {
  const owner = ownerProblem(path, status)
  if (owner !== undefined) return owner
  if ((status.mode & FOREIGN_WRITE) === 0) return undefined
  const mode = (status.mode & 0o7777).toString(8).padStart(4, '0')
  return `${path} may be changed by others (mode ${mode}); run: chmod go-w ${path}`
}

function ownerProblem(path: string, { uid }: Stats): string | undefined {
  const own = process.getuid?.()
  if (own === undefined || uid === own || uid === ROOT) return undefined
  return `${path} belongs to user ${uid}, who is neither root nor the service (${own}); run: chown ${own} ${path}`
}

/** Why files of a plugin folder must not be trusted: links, paths out of the folder, writable by everybody. */
export async function unsafeReason(dir: string, files: readonly string[]): Promise<string | undefined> {
  if (!(await lstat(dir)).isDirectory()) return 'the folder is a link or no folder'
  const root = await realpath(dir)
  for (const file of files) {
    const name = relative(dir, file)
    try {
      const status = await lstat(file)
      if (!status.isFile()) return `${name} is a link or no file`
      if ((status.mode & 0o002) !== 0) return `${name} may be changed by everybody; run chmod o-w on it`
      if (!(await realpath(file)).startsWith(root + sep)) return `${name} lies outside of the folder`
    } catch (error) {
      if (isMissing(error)) return `${name} is missing; build the package first`
      throw error
    }
  }
  return undefined
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
