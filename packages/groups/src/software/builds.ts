import { createHash, hash } from 'node:crypto'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  createPause,
  isRecord,
  jsonIn,
  msFromTimestamp,
  readSignature,
  signatureHolds,
  trustedName,
} from '@steeple/contracts'

/** In the data directory, beside what `bin/launch` keeps there. */
const FOLDER = 'builds'
/** As scripts/builds/archive.mjs writes it. */
const PURPOSE = 'steeple build 1'
export const SIGNATURE_FILE = 'signature.json'
const RECORD_FILE = 'lib/node_modules/@steeple/cli/build.json'
/** What is not listed in the signature and lies here would be run all the same. */
const PROGRAMS = ['bin', 'lib'] as const
/** Of a folder of a build: others are what is under way, and what the launcher keeps. */
const FOLDER_NAME = /^(?!\.)[A-Za-z0-9._@+-]+$/
const NAME = /^(?!\.{1,2}$)[A-Za-z0-9._@+-]+$/
const ID_DIGITS = 12
const SMALL_OCTETS = 1_048_576

/** A signed build, as its folder says it. */
export interface Build {
  /** The first digits of the SHA-256 of its signature file: of all that is in it, and of who has signed. */
  readonly id: string
  /** Public key, as in `groups.build_keys`. */
  readonly key: string
  /** SHA-256 (hex) by path. */
  readonly files: ReadonlyMap<string, string>
}
/** What it says of itself, once its files are there. */
interface BuildFacts {
  readonly version: string
  readonly madeAtMs: number
  readonly arch: string
}
/** One that lies in a folder of that name. */
export interface HeldBuild extends Build, BuildFacts {
  readonly folder: string
}

/** What a signature file says; undefined for one that nobody has signed, or with names that lead out of a folder. */
export function buildOf(text: string): Build | undefined {
  const signed = readSignature(text)
  if (signed === undefined || !signatureHolds(PURPOSE, signed)) return undefined
  const areSafe = [...signed.files.keys()].every((path) => path.split('/').every((part) => NAME.test(part)))
  if (!areSafe || !signed.files.has(RECORD_FILE) || !signed.files.has('bin/svc')) return undefined
  return { id: hash('sha256', text).slice(0, ID_DIGITS), key: signed.key, files: signed.files }
}

/** Whether one of `keys` (`ed25519:… name`) has signed it. */
export function isTrusted({ key }: Build, keys: readonly string[]): boolean {
  return trustedName(key, keys) !== undefined
}

/** Why a box whose keys these are does not run it; undefined when it may. */
export function distrustOf(build: Build, keys: readonly string[]): string | undefined {
  if (isTrusted(build, keys)) return undefined
  return `it is signed with ${build.key}, which is not in groups.build_keys of this box`
}

/** The folder of builds of this box. */
export interface BuildFolder {
  readonly dir: string
  /** The signed builds in it. What they hold is not looked at. */
  list(): Promise<readonly HeldBuild[]>
  /** By its id. */
  find(id: string): Promise<HeldBuild | undefined>
}

/** Of a data directory; there may be none in it. */
export function buildFolder(dataDir: string): BuildFolder {
  const dir = join(dataDir, FOLDER)
  // Half a megabyte each, which a box asks for piece by piece.
  const known = new Map<string, { readonly mtimeMs: number; readonly build: HeldBuild | undefined }>()
  const held = async (folder: string): Promise<HeldBuild | undefined> => {
    const status = await stat(join(dir, folder, SIGNATURE_FILE)).catch(() => undefined)
    if (status === undefined) return undefined
    const { mtimeMs } = status
    const before = known.get(folder)
    if (before?.mtimeMs === mtimeMs) return before.build
    const build = await readBuild(join(dir, folder), folder)
    known.set(folder, { mtimeMs, build })
    return build
  }
  const list = async (): Promise<readonly HeldBuild[]> => {
    const names = (await readdir(dir).catch(() => [])).filter((name) => FOLDER_NAME.test(name))
    const builds = await Promise.all(names.toSorted().map(held))
    return builds.filter((build) => build !== undefined)
  }
  return { dir, list, find: async (id) => (await list()).find((build) => build.id === id) }
}

async function readBuild(root: string, folder: string): Promise<HeldBuild | undefined> {
  try {
    const build = buildOf(await readFile(join(root, SIGNATURE_FILE), 'utf8'))
    const facts = factsOf(await readFile(join(root, RECORD_FILE), 'utf8'))
    return build === undefined || facts === undefined ? undefined : { ...build, ...facts, folder }
  } catch {
    // It is being removed, or is no build.
    return undefined
  }
}

function factsOf(text: string): BuildFacts | undefined {
  const record = jsonIn(text)
  if (!isRecord(record)) return undefined
  const { version, date, arch } = record
  const madeAtMs = typeof date === 'string' ? msFromTimestamp(date) : undefined
  if (typeof version !== 'string' || typeof arch !== 'string' || madeAtMs === undefined) return undefined
  return { version, arch, madeAtMs }
}

/** What of a build is not in a folder as it was signed, and programs there that nobody has signed: the first. */
export async function wrongIn(
  root: string,
  { files }: Build,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pause = createPause()
  for (const [path, sum] of files) {
    await pause()
    signal.throwIfAborted()
    if ((await sumOf(join(root, path))) !== sum) return path
  }
  for (const folder of PROGRAMS) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name).slice(root.length + 1)
      if (!entry.isDirectory() && !files.has(path)) return path
    }
  }
  return undefined
}

/** SHA-256 (hex) of a file; undefined when there is none. Pause between several. */
export async function sumOf(path: string): Promise<string | undefined> {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status?.isFile() !== true) return undefined
  // Of the thousands of a build few are larger, and each wait costs more than the sum.
  if (status.size <= SMALL_OCTETS) return hash('sha256', readFileSync(path))
  const sum = createHash('sha256')
  for await (const piece of createReadStream(path)) sum.update(piece)
  return sum.digest('hex')
}

/** Octets of all files. */
export async function octetsOf(root: string, { files }: Build): Promise<number> {
  let sum = 0
  for (const path of files.keys()) sum += (await stat(join(root, path)).catch(() => ({ size: 0 }))).size
  return sum
}
