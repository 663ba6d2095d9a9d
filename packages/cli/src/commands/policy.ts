import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/service.ts'
import { failure, unreadable, usageError } from '../command-error.ts'
import { jsonText, printRecord } from '../output/print.ts'
import { cell, valueAt } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

interface SetOptions extends ConnectionOptions {
  readonly file?: string
}

/** Fields of the bundle that the service sets itself. Contract section 5. */
const OWN_FIELDS = ['revision', 'updated_at'] as const

/** `svc policy get|set` */
export function addPolicyCommands(program: Command, terminal: Terminal): void {
  const policy = program.command('policy').description('the policy bundle')
  restCommand(policy, 'get [key]', 'the bundle, or one value of it (spectrum.license.acknowledged)').action(
    (key: string | undefined, options: ConnectionOptions) => get(terminal, key, options),
  )
  restCommand(policy, 'set [assignments...]', 'change values: key.path=value, the value as JSON or text')
    .option('--file <file>', 'JSON with the keys to change, or - for standard input')
    .action((assignments: readonly string[], options: SetOptions) => set(terminal, assignments, options))
}

async function get(terminal: Terminal, key: string | undefined, options: ConnectionOptions): Promise<void> {
  const { data } = await connect(terminal, options).get('/v1/policy')
  if (key === undefined) return printRecord(terminal, options, data)
  const value = valueAt(data, key)
  if (value === undefined) throw failure('policy_key_unknown', `the policy bundle has no ${key}`)
  terminal.out(options.json === true ? jsonText(value) : `${cell(value)}\n`)
}

async function set(terminal: Terminal, assignments: readonly string[], options: SetOptions): Promise<void> {
  const fromFile = options.file === undefined ? {} : await patchFromFile(terminal, options.file)
  const patch = assign(fromFile, patchFromAssignments(assignments))
  const service = connect(terminal, options)
  // A bundle that was read, edited and sent back names the revision it was made from.
  const revision = patch.revision
  const ifMatch = typeof revision === 'number' ? `"${revision}"` : (await service.get('/v1/policy')).etag
  const changes = Object.fromEntries(Object.entries(patch).filter(([name]) => !isOwnField(name)))
  if (Object.keys(changes).length === 0) throw usageError('nothing to set; give key.path=value or --file')
  const { data } = await service.put('/v1/policy', { body: changes, ifMatch })
  printRecord(terminal, options, data)
}

async function patchFromFile(terminal: Terminal, file: string): Promise<Json> {
  const name = file === '-' ? 'standard input' : file
  const text = file === '-' ? await terminal.input() : textOf(file)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw failure('malformed_json', `${name} is not JSON: ${(cause as Error).message}`, { cause })
  }
  if (!isObject(value)) throw failure('malformed_json', `${name} holds no JSON object`)
  return value
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function isOwnField(name: string): boolean {
  return OWN_FIELDS.some((field) => field === name)
}

/**
 * The merge patch (RFC 7396) of `key.path=value` words.
 *
 * A value that is JSON (`10`, `true`, `["a","b"]`, `null`) is taken as such, everything else as text. Throws `usage`.
 */
export function patchFromAssignments(words: readonly string[]): Json {
  return words.reduce<Json>((patch, word) => assign(patch, patchOf(word)), {})
}

/** `over` laid over `base`, object by object. */
export function assign(base: Json, over: Json): Json {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? assign(before, value) : value
  }
  return merged
}

function patchOf(word: string): Json {
  const split = word.indexOf('=')
  const path = word.slice(0, split).split('.')
  if (split < 1 || !path.every((name) => /^[a-z][a-z0-9_]*$/.test(name)))
    throw usageError(`${JSON.stringify(word)} is no key.path=value`)
  const value: unknown = valueFromText(word.slice(split + 1))
  // At least one name: split gives one for the empty string too, and that is refused above.
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Json
}

function valueFromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
