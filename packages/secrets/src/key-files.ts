import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { secretsInvalid } from '@steeple/contracts'

const DIRECTORY_MODE = 0o700
const FILE_MODE = 0o600
/** Any right of group or others. */
const FOREIGN_BITS = 0o077
const TEMPORARY = /^\.(.+)\.(\d+)-[0-9a-f]{8}\.tmp$/
/** File systems without hard links answer one of these. */
const NO_LINK_CODES: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

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
      syncDirectory(dirname(path))
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
  throw secretsInvalid(`${join(directory, name)} is missing; restore it from a backup of the keys`)
}

/**
 * Writes a file, mode 0600, unless it exists, and says whether it did. Durable when it returns; a kill at any point
 * leaves the whole file or none. Of two processes one wins.
 */
export function createKeyFile(directory: string, name: string, bytes: Uint8Array): boolean {
  const temporary = writeTemporary(directory, name, bytes)
  const path = join(directory, name)
  try {
    linkSync(temporary, path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return false
    if (!NO_LINK_CODES.includes(code)) throw error
    if (statOf(path) !== undefined) return false
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  syncDirectory(directory)
  return true
}

/** Replaces a file (or writes it). A kill at any point leaves the old or the new bytes, whole. */
export function replaceKeyFile(directory: string, name: string, bytes: Uint8Array): void {
  const temporary = writeTemporary(directory, name, bytes)
  try {
    renameSync(temporary, join(directory, name))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncDirectory(directory)
}

/** Removes a file for good: gone after a power cut too. Absent is fine. */
export function removeKeyFile(directory: string, name: string): void {
  rmSync(join(directory, name), { force: true })
  syncDirectory(directory)
}

/** Names in the directory, without what a killed writer left. */
export function listKeyFiles(directory: string): readonly string[] {
  return readdirSync(directory).filter((name) => !TEMPORARY.test(name))
}

/** Removes what killed writers left. Files of writers that live stay. */
export function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = TEMPORARY.exec(name)?.[2]
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)))) {
      rmSync(join(directory, name), { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function writeTemporary(directory: string, name: string, bytes: Uint8Array): string {
  const path = join(directory, `.${name}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`)
  const fd = openSync(path, 'wx', FILE_MODE)
  try {
    fchmodSync(fd, FILE_MODE)
    let written = 0
    while (written < bytes.length) written += writeSync(fd, bytes, written)
    fsyncSync(fd)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(fd)
  }
  return path
}

function syncDirectory(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
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
