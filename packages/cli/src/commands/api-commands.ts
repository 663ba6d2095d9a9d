import {
  type ApiCommand,
  type CommandGroup,
  type CommandNames,
  type CommandOption,
  msFromDuration,
  timestampFromMs,
} from '@steeple/contracts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type AnyRequest, connect, type Json, objectsOf, type Service } from '../client/service.ts'
import { failure, usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import { fieldOf, valueAt } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, groupOf, type ListOptions, limitOption, positiveInteger, restCommand } from './options.ts'

/** More of them than a box has. */
const MOST_NAMES = 10_000

/** A command that is data, a group, or what adds commands itself. */
export type CommandEntry = ApiCommand | CommandGroup | ((program: Command, terminal: Terminal) => void)

/** Adds commands in their order. */
export function addCommands(program: Command, terminal: Terminal, entries: readonly CommandEntry[]): void {
  for (const entry of entries) {
    if (typeof entry === 'function') entry(program, terminal)
    else if ('group' in entry) entry.group.split(' ').reduce(groupOf, program).description(entry.summary)
    else addApiCommand(program, terminal, entry)
  }
}

/** What is known of the arguments of a command that is data. */
export const ARGUMENTS: WeakMap<Command, NonNullable<ApiCommand['arguments']>> = new WeakMap()

/** What a command was called before. */
export const EARLIER_NAME: WeakMap<Command, string> = new WeakMap()

function addApiCommand(program: Command, terminal: Terminal, spec: ApiCommand): void {
  const command = restCommand(program, spec.usage, spec.summary)
  ARGUMENTS.set(command, spec.arguments ?? {})
  if (spec.earlier !== undefined) EARLIER_NAME.set(command, spec.earlier)
  if (spec.list !== undefined && spec.list.isWhole !== true) command.addOption(limitOption())
  for (const [flags, option] of Object.entries(spec.options ?? {})) command.addOption(optionOf(flags, option))
  command.action(() => run(command, terminal, spec))
}

export function optionOf(flags: string, given: string | CommandOption): Option {
  const { summary, takes, choices, default: standard, value } = optionFrom(given)
  const option = new Option(flags, summary)
  if (option.optional) option.preset(value)
  if (takes === 'count') option.argParser(positiveInteger)
  if (takes === 'number') option.argParser(anyNumber)
  if (takes === 'list') option.argParser(gathered)
  if (takes === 'ahead') option.argParser(timeAhead)
  if (choices !== undefined) option.choices(choices)
  return standard === undefined ? option : option.default(standard)
}

function anyNumber(text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It is a number such as 20, 1.4 or -3.')
  return Number(text)
}

function timeAhead(text: string): string {
  const ms = msFromDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('It is a duration such as 2h or 3d.')
  return timestampFromMs(Date.now() + ms)
}

function optionFrom(given: string | CommandOption): CommandOption {
  return typeof given === 'string' ? { summary: given } : given
}

async function run(command: Command, terminal: Terminal, spec: ApiCommand): Promise<void> {
  const options = command.opts<ListOptions>()
  const { operation, list, shows, note } = spec
  const typed = [...typedArguments(command, spec), ...typedOptions(command, spec)]
  const request = requestOf(spec, typed)
  const service = connect(terminal, options)
  await nameIds(service, spec, request.path)
  if (list !== undefined && list.isWhole !== true) {
    const found = await service.anyList(operation, list.key, options.limit, request)
    const { whenEmpty } = list
    if (whenEmpty !== undefined && found.rows.length === 0 && options.json !== true)
      say(terminal, whenEmpty, await service.any(whenEmpty.operation, {}))
    return printList(terminal, options, found, list.columns)
  }
  const answer = await service.any(operation, request)
  const body = shows === undefined ? answer : filled(shows, typed, request.path)
  if (list === undefined) printRecord(terminal, options, body)
  else {
    const whole = { key: list.key, rows: objectsOf(body[list.key]), nextCursor: null }
    printList(terminal, options, whole, list.columns)
  }
  if (!holds(body, spec.expects)) terminal.answer(1)
  if (options.json !== true) say(terminal, note, body)
}

function say(terminal: Terminal, notes: ApiCommand['note'], answer: Json): void {
  const note = [notes ?? []].flat().find(({ when }) => holds(answer, when))
  if (note !== undefined) terminal.err(`${note.says}\n`)
}

function holds(answer: Json, wanted: Json = {}): boolean {
  return Object.entries(wanted).every(([field, value]) => valueAt(answer, field) === value)
}

/** What is shown in place of an answer: `{id}` is what the path has there, or what was typed. */
function filled(shows: Json, typed: readonly Typed[], path: Json): Json {
  const known = { ...Object.fromEntries(typed.map(({ title, value }) => [title, value])), ...path }
  const value = (text: unknown): unknown => (typeof text === 'string' ? fieldOf(known, text) : text)
  return Object.fromEntries(Object.entries(shows).map(([name, text]) => [name, value(text)]))
}

/** What was typed, and where it goes. */
interface Typed {
  readonly title: string
  readonly place: string
  readonly value: unknown
  /** It need not have been typed. */
  readonly isFree: boolean
}

/** Throws `usage`. */
function requestOf(
  spec: ApiCommand,
  typed: readonly Typed[],
): AnyRequest & { readonly path: Record<string, unknown> } {
  const path: Record<string, unknown> = {}
  const query = {}
  const body = { ...spec.body }
  const parts: Readonly<Record<string, object>> = { path, query, body }
  if (spec.exactlyOne !== undefined && typed.filter(({ isFree }) => isFree).length !== 1)
    throw usageError(spec.exactlyOne)
  for (const { title, place, value } of typed) {
    const other = typed.find((one) => one.place === place && one.title !== title)
    if (other !== undefined) throw usageError(`${title} and ${other.title} exclude each other`)
    const [part = '', field = ''] = place.split('.')
    Object.assign(parts[part] ?? {}, { [field]: value }) // a test holds each place to the document of the API
  }
  return { path, query, body: Object.keys(body).length === 0 ? undefined : body }
}

/** Puts ids into the path where names were typed. */
async function nameIds(service: Service, spec: ApiCommand, path: Record<string, unknown>): Promise<void> {
  for (const { named, to = '' } of Object.values(spec.arguments ?? {})) {
    const field = to.replace('path.', '')
    if (named !== undefined) path[field] = await idOf(service, named, String(path[field]))
  }
}

/** The id of the one of that name; capitals make no other one. Throws the error for none. */
export async function idOf(service: Service, names: CommandNames, name: string): Promise<string> {
  const { operation, key, code, missing, hint } = names
  const { rows } = await service.anyList(operation, key, MOST_NAMES, {})
  const found = rows.find((row) => String(row.name).toLowerCase() === name.toLowerCase())
  if (found !== undefined) return String(found.id)
  throw failure(code, missing.replace('{value}', JSON.stringify(name)), { hint })
}

/** What an argument says and where it goes. Throws `usage` for one that does not look as it has to. */
export function typedArguments(
  command: Command,
  spec: Pick<ApiCommand, 'arguments'> & Partial<Pick<ApiCommand, 'operation'>>,
): readonly Typed[] {
  return command.registeredArguments.flatMap((argument, at) => {
    const given: unknown = command.processedArgs[at]
    const value = Array.isArray(given) ? given.flatMap((one: string) => gathered(one)) : given
    if (value === undefined) return []
    const title = argument.name()
    const { to, pattern = '', refusal = '' } = spec.arguments?.[title] ?? {}
    if (!new RegExp(pattern).test(String(value)))
      throw usageError(refusal.replace('{value}', JSON.stringify(value)))
    return { title, place: to ?? placeOf(spec, title), value, isFree: !argument.required }
  })
}

function typedOptions(command: Command, spec: ApiCommand): readonly Typed[] {
  return Object.entries(spec.options ?? {}).flatMap(([flags, given]) => {
    const { to, unsent, value: says = true } = optionFrom(given)
    const option = command.options.find((one) => one.flags === flags)
    const value: unknown = command.getOptionValue(option?.attributeName() ?? '')
    if (option === undefined || value === undefined || value === unsent) return []
    const place = to ?? placeOf(spec, option.name())
    return { title: `--${option.name()}`, place, value: option.isBoolean() ? says : value, isFree: true }
  })
}

function placeOf({ operation = '' }: Partial<Pick<ApiCommand, 'operation'>>, title: string): string {
  const name = title.replaceAll('-', '_')
  if (operation.includes(`{${name}}`)) return `path.${name}`
  return operation.startsWith('GET ') ? `query.${name}` : `body.${name}`
}
