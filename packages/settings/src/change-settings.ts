import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isServiceError, settingsFixed, validationFailed } from '@steeple/contracts'
import { parseDocument } from 'yaml'
import { DEFAULT_CONFIG_FILE } from './config-sources.ts'
import { type ConfigOptions, type LoadedConfig, loadConfig } from './load-config.ts'
import { leavesOf, mergedSchema } from './schema-tree.ts'
import { isSettable } from './settings-in-force.ts'

/** Keys, dotted, and what they are to be. */
type Changes = Readonly<Record<string, unknown>>

/** What a change of keys would make of the configuration file, checked as a whole. Nothing is changed yet. */
export interface PlannedSettings {
  /** The file that the service reads; there may be none at the default path. */
  readonly file: string
  /** All of it as it was looked at; empty when there is none. */
  readonly before: string
  /** All of the file, with the changes in it. */
  readonly text: string
  /** The lines of the changed keys alone, for somebody who writes the file. */
  readonly lines: string
  /** The service may write the file. */
  readonly isWritable: boolean
  /** Keys of the change that a variable or a flag decides, whatever the file says. */
  readonly fixed: readonly { readonly key: string; readonly by: string }[]
  readonly loaded: LoadedConfig
}

/**
 * Looks what `changes` would make of the file. What stands there otherwise stays, comments too.
 *
 * Throws `validation_failed` for a key that may not be changed so, and for a configuration that would be refused.
 */
export function planSettings(options: ConfigOptions, changes: Changes): PlannedSettings {
  const file = options.file ?? DEFAULT_CONFIG_FILE
  const before = textOf(file)
  const known = new Map(
    leavesOf(mergedSchema(options.sections ?? [])).map((leaf) => [leaf.path.join('.'), leaf]),
  )
  for (const key of Object.keys(changes)) {
    const leaf = known.get(key)
    if (leaf === undefined) throw refused(key, `there is no key ${key}`)
    if (!isSettable(leaf.schema))
      throw refused(key, `${key} is changed in ${file} alone, by who runs the machine`)
  }
  const text = edited(before, changes, file)
  const loaded = loadedAs(text, options, changes)
  return {
    file,
    before,
    text,
    lines: edited('', changes, file),
    isWritable: mayWrite(file),
    fixed: Object.keys(changes).flatMap((key) => {
      const by = loaded.sources.get(key) ?? 'default'
      return by.startsWith(`${file}:`) ? [] : [{ key, by }]
    }),
    loaded,
  }
}

/**
 * Puts the planned text in the place of the file, all of it or nothing; owner and mode stay.
 *
 * Throws `settings_fixed` when a key is decided elsewhere, when the file cannot be written, and when somebody has edited it since.
 */
export function writeSettings({ file, before, text, fixed, isWritable }: PlannedSettings): void {
  const [first] = fixed
  if (first !== undefined)
    throw settingsFixed(`${first.key} is set by ${first.by}, which wins over ${file}: change it there`)
  const cannot = `the service may not write ${file}: write the lines into it yourself and reload the service (SIGHUP)`
  if (!isWritable) throw settingsFixed(cannot)
  if (textOf(file) !== before)
    throw settingsFixed(`${file} was edited in the meantime, and nothing was changed: try it once more`)
  try {
    replaceFile(existsSync(file) ? realpathSync(file) : file, text)
  } catch (cause) {
    throw settingsFixed(cannot, { cause })
  }
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function edited(before: string, changes: Changes, file: string): string {
  const document = parseDocument(before, { version: '1.2' })
  try {
    for (const [key, value] of Object.entries(changes)) {
      const path = key.split('.')
      // A group that is written without keys (`server:`) is null, in which nothing can be set.
      for (const depth of path.keys())
        if (depth > 0 && document.getIn(path.slice(0, depth)) === null)
          document.deleteIn(path.slice(0, depth))
      document.setIn(path, value)
    }
    return document.toString({ lineWidth: 0 })
  } catch (cause) {
    throw validationFailed(`${file} cannot be changed by the service as it is written; edit it yourself`, {
      cause,
    })
  }
}

function loadedAs(text: string, options: ConfigOptions, changes: Changes): LoadedConfig {
  try {
    return loadConfig({ ...options, readFile: () => text })
  } catch (error) {
    if (!isServiceError(error)) throw error
    const details = (error.details ?? []).map(({ pointer, message }) => {
      const key = pointer.slice(1).replaceAll('/', '.')
      return { pointer: Object.hasOwn(changes, key) ? `/settings/${key}` : pointer, message }
    })
    throw validationFailed(error.message, { details })
  }
}

function refused(key: string, message: string): Error {
  return validationFailed(message, { details: [{ pointer: `/settings/${key}`, message }] })
}

/** Whether another file can take its place: its folder decides, and the file itself says who may change it. */
function mayWrite(file: string): boolean {
  try {
    const target = existsSync(file) ? realpathSync(file) : file
    accessSync(dirname(target), constants.W_OK | constants.X_OK)
    if (existsSync(target)) accessSync(target, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** What a new file may be read by: the service, and its group. */
const NEW_MODE = 0o640

function replaceFile(target: string, text: string): void {
  const old = existsSync(target) ? statSync(target) : undefined
  const made = join(dirname(target), `.${basename(target)}.${process.pid}`)
  // What a service that was killed in the middle left: in a container all have the same number.
  rmSync(made, { force: true })
  try {
    writeFileSync(made, text, { flag: 'wx', flush: true })
    chmodSync(made, old === undefined ? NEW_MODE : old.mode & 0o777)
    // Only root gives files away; anybody else who may write here owns what they make.
    if (old !== undefined && process.getuid?.() === 0) chownSync(made, old.uid, old.gid)
    renameSync(made, target)
  } finally {
    rmSync(made, { force: true })
  }
  const folder = openSync(dirname(target), constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
