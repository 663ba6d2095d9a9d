import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createFileSync, isDraft, replaceFileSync, secretsInvalid, syncFolderSync } from '@steeple/contracts'

const DIRECTORY_MODE = 0o700
/** Any right of group or others. */
const FOREIGN_BITS = 0o077

/** The directory of a node's keys. */
export function keysDirectory(dataDir: string): string {
  return join(dataDir, 'keys')
}

/** Makes the directory, mode 0700, when it is absent. Checks it when it is there. Throws `secrets_invalid`. */
export function makeKeysDirectory(path: string): void {
  if (statOf(path) === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: DIRECTORY_MODE })
    try {
      mkdirSync(path, { mode: DIRECTORY_MODE })
      // The umask may have taken bits away.
      chmodSync(path, DIRECTORY_MODE)
      syncFolderSync(dirname(path))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  checkKeysDirectory(path)
}

/** Throws `secrets_invalid`, naming the command that repairs it, unless the directory is ours alone. */
export function checkKeysDirectory(path: string): void {
  const stat = statOf(path)
  if (stat === undefined)
    throw secretsInvalid(
      `there is no directory ${path}; name the data directory of the service with --data-dir, or make a node with svc node init`,
    )
  if (stat.isSymbolicLink()) throw secretsInvalid(`${path} is a symbolic link; make it a directory`)
  if (!stat.isDirectory()) throw secretsInvalid(`${path} is no directory; remove it`)
  checkOwner(path, stat)
  if ((stat.mode & FOREIGN_BITS) !== 0) {
    throw secretsInvalid(`${path} is open to others (mode ${modeText(stat)}); run: chmod 700 ${path}`)
  }
}

/**
 * The bytes of a key file; undefined when there is none.
 *
 * Throws `secrets_invalid` for a symbolic link, another owner, or any right of group or others.
 */
export function readKeyFile(directory: string, name: string): Buffer | undefined {
  const path = join(directory, name)
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ELOOP') throw secretsInvalid(`${path} is a symbolic link; make it a file`)
    throw secretsInvalid(`${path} cannot be read (${codeOf(error)})`, { cause: error })
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw secretsInvalid(`${path} is no file; remove it`)
    checkOwner(path, stat)
    if ((stat.mode & FOREIGN_BITS) !== 0) {
      throw secretsInvalid(`${path} is open to others (mode ${modeText(stat)}); run: chmod 600 ${path}`)
    }
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** As `readKeyFile`, but an absent file is an error too. */
export function requireKeyFile(directory: string, name: string): Buffer {
  const bytes = readKeyFile(directory, name)
  if (bytes !== undefined) return bytes
  throw damaged(directory, name, undefined, 'missing')
}

/** To be thrown of a file that only a copy can mend. */
export function damaged(directory: string, name: string, cause?: unknown, how = 'damaged'): Error {
  return secretsInvalid(`${join(directory, name)} is ${how}; restore it from a backup of the keys`, { cause })
}

/** Writes a file, mode 0600, unless it exists, and says whether it did (`createFileSync`). */
export function createKeyFile(directory: string, name: string, bytes: Uint8Array): boolean {
  return createFileSync(join(directory, name), bytes)
}

/** Replaces a file (or writes it), mode 0600 (`replaceFileSync`). */
export function replaceKeyFile(directory: string, name: string, bytes: Uint8Array): void {
  replaceFileSync(join(directory, name), bytes)
}

/** Removes a file for good: gone after a power cut too. Absent is fine. */
export function removeKeyFile(directory: string, name: string): void {
  rmSync(join(directory, name), { force: true })
  syncFolderSync(directory)
}

/** Names in the directory, without what a killed writer left. */
export function listKeyFiles(directory: string): readonly string[] {
  return readdirSync(directory).filter((name) => !isDraft(name))
}

function checkOwner(path: string, stat: Stats): void {
  const own = process.getuid?.()
  if (own !== undefined && stat.uid !== own) {
    throw secretsInvalid(`${path} belongs to user ${stat.uid}, not ${own}; run: chown ${own} ${path}`)
  }
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function modeText(stat: Stats): string {
  return (stat.mode & 0o777).toString(8).padStart(4, '0')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
