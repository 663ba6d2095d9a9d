import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type Apply,
  isServiceError,
  type JsonSchema,
  replaceFileSync,
  settingsFixed,
  validationFailed,
} from '@steeple/contracts'
import { parseDocument } from 'yaml'
import { DEFAULT_CONFIG_FILE, FLAG_KEYS } from './config-sources.ts'
import { dotted, isMap, valueAt } from './config-tree.ts'
import { environmentTable } from './environment.ts'
import { typeText } from './key-words.ts'
import { type ConfigOptions, type LoadedConfig, loadConfig } from './load-config.ts'
import { leavesOf, mergedSchema, ownerOf, propertiesOf } from './schema-tree.ts'
import { compileSchema } from './validate.ts'

/** One key that has another value now, and when that takes effect. */
export interface SettingsChange {
  readonly key: string
  readonly apply: Apply
}

/** The keys of a schema that differ between two configurations, in its order. */
export function diffSettings(before: object, after: object, schema: JsonSchema): readonly SettingsChange[] {
  return leavesOf(schema)
    .filter(({ path }) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
    .map(({ path, apply }) => ({ key: dotted(path), apply }))
}

/** One key of the configuration: what it is, what is in force, and how it is set. */
export interface SettingInForce {
  /** Dotted. */
  readonly key: string
  readonly about: string
  /** What it takes, in words. */
  readonly takes: string
  readonly default: unknown
  /** `***` where it is or may hold a secret. */
  readonly value: unknown
  /** `default`, `file:line:column`, a variable or a flag. */
  readonly from: string
  readonly apply: Apply
  /** `PUT /v1/settings` may change it in the file. */
  readonly isSettable: boolean
  /** The configuration has another value, which counts from the next start on. */
  readonly awaitsStart: boolean
  /** Variable and flag that set it; undefined: the file alone. */
  readonly variable: string | undefined
  readonly flag: string | undefined
  /** The plugin whose key it is; undefined: the service's own. */
  readonly plugin: string | undefined
}

const HIDDEN = '***'

/** Every key of `loaded` in its order, with what is in force, which is older where a key waits for the next start. */
export function settingsInForce(loaded: LoadedConfig, inForce: unknown): readonly SettingInForce[] {
  const { schema, sections, sources } = loaded
  const variables = new Map(environmentTable(schema).map(({ key, variable }) => [key, variable]))
  const flags = new Map(Object.entries(FLAG_KEYS).map(([flag, key]) => [String(key), flag]))
  return leavesOf(schema).map(({ path, schema: leaf, apply }) => {
    const key = path.join('.')
    const value = valueAt(inForce, path)
    const owner = ownerOf(sections, path)
    return {
      key,
      about: String(leaf.description ?? ''),
      takes: typeText(leaf).replaceAll('`', ''),
      default: leaf.default ?? null,
      value: shown(leaf, value) ?? null,
      from: sources.get(key) ?? 'default',
      apply,
      isSettable: isSettable(leaf),
      awaitsStart: !isDeepStrictEqual(value, valueAt(loaded.settings, path)),
      variable: variables.get(key),
      flag: flags.get(key),
      plugin: owner?.plugin,
    }
  })
}

/**
 * Whether the schema of a key lets it be changed over the API. Never a secret. What names a program or a file to run only takes values
 * that the schema lists or describes: an array or a schema instead of `true`.
 */
function isSettable({ 'x-settable': settable, 'x-secret': secret }: JsonSchema): boolean {
  return (settable === true || Array.isArray(settable) || isMap(settable)) && secret !== true
}

/** Throws `validation_failed` for a value that the API may not set, though the file may have it. */
function refuseUnsettable(key: string, value: unknown, schema: JsonSchema, file: string): void {
  const settable = schema['x-settable']
  if (!isSettable(schema)) throw refused(key, `${key} is changed in ${file} alone, by who runs the machine`)
  const others = `other values are set in ${file}`
  if (Array.isArray(settable) && !settable.includes(value))
    throw refused(key, `the API sets ${key} to one of ${settable.join(', ')}; ${others}`)
  if (isMap(settable) && !compileSchema(schemaOf(settable), {})(structuredClone(value)))
    throw refused(key, `the API sets ${key} only with ${settable['x-allowed']}; ${others}`)
}

/** A value without what opens something: secrets, and of URLs all but scheme and host (a path or a user may be a token). */
function shown(schema: JsonSchema, value: unknown): unknown {
  if (value === undefined || value === null || value === '') return value
  if (schema['x-secret'] === true) return HIDDEN
  if (typeof value === 'string') return looksLikeUrl(value) ? shownUrl(value) : value
  if (Array.isArray(value)) return value.map((item) => shown(schemaOf(schema.items), item))
  if (!isMap(value)) return value
  const properties = propertiesOf(schema)
  const rest = schemaOf(schema.additionalProperties)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, shown(properties[name] ?? rest, inner)]),
  )
}

function schemaOf(schema: unknown): JsonSchema {
  // A schema below a schema is one by its own definition.
  return isMap(schema) ? (schema as JsonSchema) : {}
}

function looksLikeUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}

/** Scheme and host. Where what is behind them could belong to a credential, the scheme alone. */
function shownUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.host === '' || text.split('@').length > 2)
    return `${text.slice(0, text.indexOf('://'))}://${HIDDEN}`
  const isBare =
    url.username === '' &&
    (url.pathname === '' || url.pathname === '/') &&
    url.search === '' &&
    url.hash === ''
  return isBare ? text : `${url.protocol}//${url.host}/${HIDDEN}`
}

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
 * Throws `validation_failed` for a key that may not be changed so, and for a configuration that would be refused. A key may have the
 * value that `found` has of it, since that is of this machine and of no caller's choice.
 */
export function planSettings(options: ConfigOptions, changes: Changes, found: Changes = {}): PlannedSettings {
  const file = options.file ?? DEFAULT_CONFIG_FILE
  const before = textOf(file)
  const known = new Map(
    leavesOf(mergedSchema(options.sections ?? [])).map((leaf) => [leaf.path.join('.'), leaf]),
  )
  for (const key of Object.keys(changes)) {
    const leaf = known.get(key)
    if (leaf === undefined) throw refused(key, `there is no key ${key}`)
    const isFound =
      leaf.schema['x-secret'] !== true &&
      Object.hasOwn(found, key) &&
      isDeepStrictEqual(changes[key], found[key])
    if (!isFound) refuseUnsettable(key, changes[key], leaf.schema, file)
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
    replaceConfig(existsSync(file) ? realpathSync(file) : file, text)
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

/** Only root gives files away; anybody else who may write here owns what they make. */
function replaceConfig(target: string, text: string): void {
  const old = existsSync(target) ? statSync(target) : undefined
  const owner = process.getuid?.() === 0 ? old : undefined
  replaceFileSync(target, text, { mode: old === undefined ? NEW_MODE : old.mode & 0o777, owner })
}
