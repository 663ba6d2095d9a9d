import type { ApiCommand, CommandColumn, CommandGroup, CommandOption } from '@steeple/contracts'
import { type Command, Option } from 'commander'
import { connect, type Json, objectsOf, type RestClient } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import { type Column, moment } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, groupOf, type ListOptions, limitOption, positiveInteger, restCommand } from './options.ts'
import { valueAt } from './policy.ts'

/** A command that is data, a group, what adds commands itself, or nothing where a build is without its feature. */
export type CommandEntry =
  | ApiCommand
  | CommandGroup
  | ((program: Command, terminal: Terminal) => void)
  | undefined

/** Adds commands in their order. */
export function addCommands(program: Command, terminal: Terminal, entries: readonly CommandEntry[]): void {
  for (const entry of entries) {
    if (typeof entry === 'function') entry(program, terminal)
    else if (entry === undefined) continue
    else if ('group' in entry) groupOf(program, entry.group).description(entry.summary)
    else addApiCommand(program, terminal, entry)
  }
}

function addApiCommand(program: Command, terminal: Terminal, spec: ApiCommand): void {
  const command = restCommand(program, spec.usage, spec.summary)
  if (spec.list !== undefined && spec.list.isWhole !== true) command.addOption(limitOption())
  for (const [flags, option] of Object.entries(spec.options ?? {})) command.addOption(optionOf(flags, option))
  command.action(() => run(command, terminal, spec))
}

/** An option of commander. */
export function optionOf(flags: string, given: string | CommandOption): Option {
  const { summary, takes, choices, default: standard } = optionFrom(given)
  const option = new Option(flags, summary)
  if (takes === 'count') option.argParser(positiveInteger)
  if (takes === 'list') option.argParser(gathered)
  if (choices !== undefined) option.choices(choices)
  return standard === undefined ? option : option.default(standard)
}

function optionFrom(given: string | CommandOption): CommandOption {
  return typeof given === 'string' ? { summary: given } : given
}

async function run(command: Command, terminal: Terminal, spec: ApiCommand): Promise<void> {
  const options = command.opts<ListOptions>()
  const isJson = options.json === true
  const { list, shows, note } = spec
  const request = requestOf(command, spec)
  const client = connect(terminal, options)
  if (list !== undefined && list.isWhole !== true) {
    const found = await client.list(pathOf(spec, request), list.key, options.limit, textsOf(request.query))
    return printList(terminal, isJson, found, list.columns.map(columnOf))
  }
  const answer = await answerTo(client, spec, request)
  const body = shows === undefined ? answer : shown(shows, request)
  if (list === undefined) printRecord(terminal, isJson, body)
  else {
    const whole = { key: list.key, rows: objectsOf(body[list.key]), nextCursor: null }
    printList(terminal, isJson, whole, list.columns.map(columnOf))
  }
  for (const [field, value] of Object.entries(spec.expects ?? {}))
    if (body[field] !== value) terminal.answer(1)
  if (note !== undefined) terminal.err(`${note}\n`)
}

/** What is sent. */
interface Request {
  readonly path: Record<string, unknown>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
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
function requestOf(command: Command, spec: ApiCommand): Request {
  const request: Request = { path: {}, query: {}, body: { ...spec.body } }
  const typed = [...typedArguments(command, spec), ...typedOptions(command, spec)]
  if (spec.exactlyOne !== undefined && typed.filter(({ isFree }) => isFree).length !== 1)
    throw usageError(spec.exactlyOne)
  for (const { title, place, value } of typed) {
    const other = typed.find((one) => one.place === place && one.title !== title)
    if (other !== undefined) throw usageError(`${title} and ${other.title} exclude each other`)
    const [part = '', field = ''] = place.split('.')
    request[part as keyof Request][field] = value // a test holds each place to the document of the API
  }
  return request
}

function typedArguments(command: Command, spec: ApiCommand): readonly Typed[] {
  return command.registeredArguments.flatMap((argument, at) => {
    const value: unknown = command.processedArgs[at]
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
    const { to, value: says = true } = optionFrom(given)
    const option = command.options.find((one) => one.flags === flags)
    const value: unknown = command.getOptionValue(option?.attributeName() ?? '')
    if (option === undefined || value === undefined) return []
    const place = to ?? placeOf(spec, option.name())
    return { title: `--${option.name()}`, place, value: option.isBoolean() ? says : value, isFree: true }
  })
}

function placeOf({ operation }: ApiCommand, title: string): string {
  const name = title.replaceAll('-', '_')
  if (operation.includes(`{${name}}`)) return `path.${name}`
  return operation.startsWith('GET ') ? `query.${name}` : `body.${name}`
}

function pathOf({ operation }: ApiCommand, { path }: Request): string {
  const target = operation.slice(operation.indexOf(' ') + 1)
  return target.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])))
}

function textsOf(query: Json): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))
}

async function answerTo(client: RestClient, spec: ApiCommand, request: Request): Promise<Json> {
  const path = pathOf(spec, request)
  if (spec.operation.startsWith('GET ')) return (await client.get(path, textsOf(request.query))).body
  const [method] = spec.operation.split(' ')
  const body = Object.keys(request.body).length === 0 ? undefined : request.body
  const query = new URLSearchParams(textsOf(request.query)).toString()
  const target = query === '' ? path : `${path}?${query}`
  return (await client.change(method as 'POST' | 'PUT' | 'DELETE', target, body)).body
}

/** `{id}` is what was typed there. */
function shown(shows: Json, { path }: Request): Json {
  const typed = ([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? textOf(value, path) : value,
  ]
  return Object.fromEntries(Object.entries(shows).map(typed))
}

/** A column of a table. */
export function columnOf(given: string | CommandColumn): Column<Json> {
  const column = typeof given === 'string' ? { value: given } : given
  const { value, words, title = value.toUpperCase().replaceAll('_', ' ') } = column
  const shownOf = (row: Json): unknown => {
    const found = value.includes('{') ? textOf(value, row) : valueAt(row, value)
    return words?.[String(found)] ?? moment(found)
  }
  return { ...column, title, value: shownOf }
}

/** A text with the fields of a record; undefined when one of them is not there. */
function textOf(text: string, record: Json): string | undefined {
  const parts = text.split(/\{([\w.]+)\}/)
  const filled = parts.map((part, at) => (at % 2 === 0 ? part : valueAt(record, part)))
  return filled.some((part) => part === undefined || part === null) ? undefined : filled.join('')
}
