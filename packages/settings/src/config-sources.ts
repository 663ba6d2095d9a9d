import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { refuse } from './config-error.ts'
import { type ConfigTree, place, valueAt } from './config-tree.ts'
import { type ParsedFile, parseConfigText } from './yaml-file.ts'

/** Where the configuration is when no file is named. It may be absent. */
export const DEFAULT_CONFIG_FILE = '/etc/svc/control.yaml'

/** Flags that stand for a key. */
export const FLAG_KEYS = {
  '--listen': 'server.listen',
  '--data-dir': 'server.data_dir',
  '--log-level': 'server.log_level',
} as const

/** The values of flags that were given. */
export type ConfigFlags = Readonly<Partial<Record<keyof typeof FLAG_KEYS, string>>>

/** Puts the flags that were given into the tree, over everything else. */
export function applyFlags(tree: ConfigTree, flags: ConfigFlags): void {
  for (const [flag, key] of Object.entries(FLAG_KEYS)) {
    const value = valueAt(flags, [flag])
    if (value !== undefined) place(tree, key.split('.'), value, { place: flag, keyPlace: flag, kind: 'flag' })
  }
}

/** A configuration is a few kilobytes; nothing is read of a file that cannot be one. */
const MOST_BYTES = 4_194_304

/** Linux: major 1, minor 3. `--config /dev/null` is the usual way to say that there is none. */
const NULL_DEVICE = 0x103

class UnfitFile extends Error {}

/** The text of a regular file of bounded size. Waits for nobody: a pipe is refused. */
function readBounded(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw Object.assign(new Error('a directory'), { code: 'EISDIR' })
    if (stat.isCharacterDevice() && stat.rdev === NULL_DEVICE) return ''
    if (!stat.isFile()) throw new UnfitFile('is a pipe or a device; name a regular file')
    if (stat.size > MOST_BYTES) throw new UnfitFile(`is larger than ${MOST_BYTES} bytes`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/**
 * Reads and parses the file that was named, or the one at the default path, which may be absent.
 *
 * Throws `config_invalid` when it cannot be read; syntax problems are in the result.
 */
export function readConfigFile(
  named: string | undefined,
  readFile: (path: string) => string = readBounded,
): ParsedFile {
  const file = named ?? DEFAULT_CONFIG_FILE
  let text = ''
  try {
    text = readFile(file)
  } catch (error) {
    const code = valueAt(error, ['code'])
    if (error instanceof UnfitFile) refuse([{ place: file, key: '', message: error.message }])
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    const message = isAbsent ? 'there is no such file' : `cannot be read (${code ?? 'unknown error'})`
    if (!isAbsent || named !== undefined) refuse([{ place: file, key: '', message }])
  }
  const parsed = parseConfigText(file, text)
  for (const path of FOLDERS_OF_FILE) placeBeside(parsed.tree.root, path, file)
  return parsed
}

/** Folders that a file may name from where it lies, so that every command finds the same one. */
const FOLDERS_OF_FILE = [
  ['server', 'data_dir'],
  ['plugins', 'dir'],
] as const

function placeBeside(root: unknown, [group, key]: readonly [string, string], file: string): void {
  const members = valueAt(root, [group])
  const folder = valueAt(members, [key])
  if (typeof folder === 'string' && folder !== '')
    Reflect.set(Object(members), key, resolve(dirname(file), folder))
}
