import { connect, isIP } from 'node:net'
import {
  type Imsi,
  jsonIn,
  type Subscriber,
  southboundUnavailable,
  untilAborted,
  validationFailed,
} from '@steeple/contracts'
import { Int32, Long } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { rateParts } from '../open5gs/ambr.ts'
import { docsOf } from '../open5gs/slices.ts'
import { failureIn, linesOf, type Ran, type RunTool, toolRunner } from './run-tool.ts'

const INT32 = /^-?[0-9]{1,10}$/
const TOKEN =
  /\s*(?:([[\]{}(),:])|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(-?[0-9][0-9.eE+-]*)|([A-Za-z_$][\w$]*))/y

/** A piece of what mongosh prints: a sign, a text, a number or a word. */
interface Token {
  readonly kind: 'sign' | 'text' | 'number' | 'word'
  readonly text: string
}

/**
 * The value that mongosh printed, up to its end: lists, documents, texts, numbers and calls such as `Long('32')`.
 *
 * A whole number counts as an `Int32`, since the print does not tell. Undefined when it is none or breaks off.
 */
export function parseShown(printed: string): unknown {
  const tokens = tokensOf(printed)
  let at = 0
  const isSign = (sign: string): boolean => tokens[at]?.kind === 'sign' && tokens[at]?.text === sign
  const expect = (sign: string): void => {
    if (!isSign(sign)) throw new SyntaxError(`no ${sign}`)
    at += 1
  }
  const listUntil = (end: string, item: () => void): void => {
    at += 1
    while (!isSign(end)) {
      item()
      if (!isSign(end)) expect(',')
    }
    at += 1
  }
  const value = (): unknown => {
    const token = tokens[at]
    if (token === undefined) throw new SyntaxError('it breaks off')
    if (token.kind === 'sign') return composite(token.text)
    at += 1
    if (token.kind === 'text') return token.text
    if (token.kind === 'number') return numberOf(token.text)
    return isSign('(') ? called(token.text) : WORDS.get(token.text)
  }
  const composite = (sign: string): unknown => {
    if (sign === '[') {
      const list: unknown[] = []
      listUntil(']', () => list.push(value()))
      return list
    }
    if (sign !== '{') throw new SyntaxError(`a stray ${sign}`)
    const entries: (readonly [string, unknown])[] = []
    listUntil('}', () => {
      const key = tokens[at]?.text ?? ''
      at += 1
      expect(':')
      entries.push([key, value()])
    })
    return Object.fromEntries(entries)
  }
  const called = (name: string): unknown => {
    const values: unknown[] = []
    listUntil(')', () => values.push(value()))
    const [first] = values
    if (name === 'Long' && typeof first === 'string') return Long.fromString(first)
    return typeof first === 'string' ? first : undefined
  }
  try {
    return value()
  } catch {
    return undefined
  }
}

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Stops at the first thing that is no token: what follows a value is none of ours. */
function tokensOf(printed: string): readonly Token[] {
  const tokens: Token[] = []
  const pattern = new RegExp(TOKEN) // its position is its own
  for (let match = pattern.exec(printed); match !== null; match = pattern.exec(printed)) {
    const [, sign, single, double, back, number, word] = match
    const text = single ?? double ?? back
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else if (text !== undefined) tokens.push({ kind: 'text', text: text.replace(/\\(.)/g, '$1') })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else tokens.push({ kind: 'word', text: word ?? '' })
  }
  return tokens
}

function numberOf(text: string): unknown {
  const value = Number(text)
  return INT32.test(text) && Math.abs(value) < 2 ** 31 ? new Int32(value) : value
}

/** What a listing shows. mongosh prints the first 20 documents only. */
export interface Listing {
  readonly docs: readonly Doc[]
  readonly isCut: boolean
}

/** What came of an `add`. */
export function addedBy(ran: Ran): 'added' | 'exists' {
  const { output, errors } = ran
  if (/\backnowledged: true\b/.test(output) && /\binsertedId: ObjectId\(/.test(output)) return 'added'
  // mongosh names it on standard error.
  if (/\bE11000\b/.test(output) || /\bE11000\b/.test(errors)) return 'exists'
  throw failureOf(ran, 'an add')
}

/** How many documents a change found. */
export function matchedBy(ran: Ran): number {
  return countIn(ran, /\bmatchedCount: ([0-9]+)\b/, 'a change')
}

/** How many documents a removal took away. */
export function deletedBy(ran: Ran): number {
  return countIn(ran, /\bdeletedCount: ([0-9]+)\b/, 'a removal')
}

/**
 * The documents of a listing. One that shows nobody counts only when the tool ended well and names no failure: mongosh
 * prints an empty line for an empty database, and nothing for one that is down.
 */
export function listedBy(ran: Ran): Listing {
  const { output } = ran
  const isCut = /^Type "it" for more/m.test(output)
  const start = /^\[/m.exec(output)?.index
  if (start !== undefined) {
    const list = parseShown(output.slice(start))
    const docs = docsOf(list)
    if (!Array.isArray(list) || docs.length !== list.length) throw failureOf(ran, 'a listing')
    if (docs.length > 0) return { docs, isCut }
  } else if (linesOf(output).length > 0) throw failureOf(ran, 'a listing')
  if (ran.code !== 0 || failureIn(ran) !== undefined) throw failureOf(ran, 'a listing')
  return { docs: [], isCut }
}

/** The names of the commands that a help text lists. Throws for a text that is none, whatever its exit code. */
export function helpBy(ran: Ran): ReadonlySet<string> {
  const commands = commandsIn(ran.output)
  // Every tool has this one. A tool that was ended may not have come to its last command.
  if (ran.code === undefined || !commands.has('add_ue_with_apn')) throw failureOf(ran, 'help')
  return commands
}

/** The names of the commands that a help text lists. */
function commandsIn(help: string): ReadonlySet<string> {
  return new Set([...help.matchAll(/^\s+([a-z][a-z0-9_]*)(?: \{[^}]*\})?:/gim)].map(([, name = '']) => name))
}

function countIn(ran: Ran, pattern: RegExp, what: string): number {
  const count = pattern.exec(ran.output)?.[1]
  if (count === undefined) throw failureOf(ran, what)
  return Number(count)
}

function failureOf(ran: Ran, what: string): Error {
  const words = failureIn(ran)
  if (words !== undefined) return southboundUnavailable(`dbctl failed: ${words}`)
  const how = ran.code === undefined ? 'it was ended' : `it ended with ${ran.code}`
  return southboundUnavailable(`the output of dbctl for ${what} says nothing that can be read; ${how}`)
}

/** How long the words of a run count, ms. A tool in a container means another place by the same address. */
const WORDS_MS = 3_000
/** An address that does not answer at once is no reason to leave the tool alone, ms. */
const DIAL_MS = 250
/** The most addresses that are tried. */
const ADDRESSES_MAX = 4
const REFUSED = /\bECONNREFUSED ([0-9A-Fa-f:.]+):([0-9]{1,5})\b/g

interface Address {
  readonly host: string
  readonly port: number
}

/** What the last run was refused with, and until when that counts. */
interface Refusal {
  readonly ran: Ran
  readonly addresses: readonly Address[]
  readonly untilMs: number
}

/**
 * The same runs, except while the database is away: as long as nobody listens where the last run was refused, its words are
 * repeated, for 3 s at most, and then one run tries for all. A run of the stock tool takes a second of a processor and has
 * its answer late; a dial takes nothing, so that callers can ask often and see at once that the database is back.
 */
export function untilSomebodyListens(run: RunTool, nowMs: () => number = () => performance.now()): RunTool {
  let last: Refusal | undefined
  let trying: Promise<unknown> | undefined
  const tried: RunTool = async (args, signal, input) => {
    const ran = await run(args, signal, input)
    const addresses = addressesIn(ran.errors)
    last = addresses.length === 0 ? undefined : { ran, addresses, untilMs: nowMs() + WORDS_MS }
    return ran
  }
  return async (args, signal, input) => {
    signal.throwIfAborted()
    while (last !== undefined) {
      const refusal: Refusal = last
      if (nowMs() < refusal.untilMs && (await isNobodyAt(refusal.addresses, signal))) {
        // What it printed was the answer to another command.
        return { ...refusal.ran, output: '' }
      }
      if (trying === undefined) {
        const own = tried(args, signal, input)
        trying = own.then(
          () => undefined,
          () => undefined,
        )
        return await own.finally(() => {
          trying = undefined
        })
      }
      await untilAborted(trying, signal)
    }
    return await tried(args, signal, input)
  }
}

async function isNobodyAt(addresses: readonly Address[], signal: AbortSignal): Promise<boolean> {
  const refusals = await Promise.all(addresses.map(isRefused))
  signal.throwIfAborted()
  return refusals.every((one) => one)
}

function addressesIn(errors: string): readonly Address[] {
  return [...errors.matchAll(REFUSED)]
    .map(([, host = '', port]) => ({ host, port: Number(port) }))
    .filter(({ host, port }) => isIP(host) !== 0 && port > 0 && port < 65_536)
    .slice(0, ADDRESSES_MAX)
}

/** Whether nobody listens there, for certain. */
function isRefused({ host, port }: Address): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: DIAL_MS })
  const end = (isNobody: boolean) => (): void => {
    socket.destroy()
    resolve(isNobody)
  }
  socket.once('connect', end(false)).once('timeout', end(false))
  socket.once('error', (error) => end('code' in error && error.code === 'ECONNREFUSED')())
  return promise
}

/** Runs one command, in the same run of the tool as others of its moment. */
type RunBatched = (args: readonly string[], signal: AbortSignal) => Promise<Ran>

/** The most commands in one run. */
const COMMANDS_MAX = 500

interface Waiting {
  readonly args: readonly string[]
  readonly resolve: (ran: Ran) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Gathers commands and gives them to the tool's `batch` on standard input, a JSON list of words a line; it answers what
 * each printed as a JSON text a line. So keys stand in no process list, and many subscribers cost one run.
 *
 * Commands share a run, and so its exit code and standard error, only when they share a signal. One that the tool did not answer is `southbound_unavailable`.
 */
export function batchRunner(run: RunTool, flags: readonly string[]): RunBatched {
  const gathering = new Map<AbortSignal, Waiting[]>()
  const flush = async (signal: AbortSignal): Promise<void> => {
    const all = gathering.get(signal) ?? []
    gathering.delete(signal)
    for (let at = 0; at < all.length; at += COMMANDS_MAX)
      await answerAll(run, flags, all.slice(at, at + COMMANDS_MAX), signal)
  }
  return (args, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Ran>()
    const waiting = gathering.get(signal)
    if (waiting === undefined) {
      gathering.set(signal, [{ args, resolve, reject }])
      // By then whoever was answered by the run before has said what it wants next.
      setImmediate(() => void flush(signal))
    } else waiting.push({ args, resolve, reject })
    return promise
  }
}

async function answerAll(
  run: RunTool,
  flags: readonly string[],
  all: readonly Waiting[],
  signal: AbortSignal,
): Promise<void> {
  try {
    const input = all.map(({ args }) => `${JSON.stringify(args)}\n`).join('')
    const ran = await run([...flags, 'batch'], signal, input)
    const outputs = outputsIn(ran.output)
    const words = failureIn(ran)
    const why = words === undefined ? '' : `: ${words}`
    all.forEach(({ resolve, reject }, i) => {
      const output = outputs[i]
      if (output === undefined)
        reject(southboundUnavailable(`dbctl did not answer a command of its batch${why}`))
      else resolve({ ...ran, output })
    })
  } catch (error) {
    for (const { reject } of all) reject(error)
  }
}

/** Stops at the first line that is no text. */
function outputsIn(printed: string): readonly string[] {
  const outputs: string[] = []
  for (const line of printed.split('\n')) {
    const output = jsonIn(line)
    if (typeof output !== 'string') return outputs
    outputs.push(output)
  }
  return outputs
}

const IMSI = /^[0-9]{6,15}$/
const APN = /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/
/** No character that a shell or a script reads as anything but itself. */
const URL_TEXT = /^mongodb(\+srv)?:\/\/[A-Za-z0-9:/@.,?&=%_~+-]+$/
/** The tool removes one document at a time; there may be doubles. */
const DOUBLES_MAX = 8

/** The commands of an open5gs-dbctl, each with its arguments checked and its output read. */
export interface Tool {
  /**
   * The commands that its help lists, among them what a compatible tool has beyond the stock one. Throws when there is
   * no help: what the tool can do, and so whether it must be given keys on its command line, is not known then.
   */
  extras(signal: AbortSignal): Promise<ReadonlySet<string>>
  /** Everybody, as far as the tool shows them. */
  list(signal: AbortSignal): Promise<Listing>
  /** At least these, with a tool that can show one alone; otherwise everybody. */
  listOf(imsis: readonly Imsi[], signal: AbortSignal): Promise<Listing>
  /** False when there is no such subscriber. */
  setAmbr(subscriber: Subscriber, signal: AbortSignal): Promise<boolean>
  /** Adds one with its first APN. */
  add(subscriber: Subscriber, signal: AbortSignal): Promise<'added' | 'exists'>
  addApn(imsi: Imsi, apn: string, signal: AbortSignal): Promise<boolean>
  /** How many documents went. */
  remove(imsi: Imsi, signal: AbortSignal): Promise<number>
  /** Runs `block`, `unblock`, `set_sqn` or `cancel_location` of a tool that has them; the first argument is an IMSI. */
  extra(name: string, args: readonly string[], signal: AbortSignal): Promise<boolean>
}

/** The tool at `path`; `url` is the database that it is told to use, empty for its own default. */
export function dbctlTool(path: string, url: string, run: RunTool = toolRunner(path)): Tool {
  let known: Promise<ReadonlySet<string>> | undefined
  let batched: RunBatched | undefined
  const conceal = passwordsIn(url)
  const discreet: RunTool = async (...of) => ({ ...(await run(...of)), conceal })
  const sparing = untilSomebodyListens(discreet)
  const extras = async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const asked = known ?? run(['help'], signal).then(helpBy)
    known = asked
    return await asked.catch((error: unknown) => {
      // A tool that prints no help now may do so later.
      known = undefined
      throw error
    })
  }
  const call = async (args: readonly string[], signal: AbortSignal): Promise<Ran> => {
    if (!(await extras(signal)).has('batch')) return await sparing([...uriFlag(url), ...args], signal)
    batched ??= batchRunner(discreet, uriFlag(url))
    return await batched(args, signal)
  }
  const list = async (signal: AbortSignal): Promise<Listing> => listedBy(await call(['showpretty'], signal))
  return {
    extras,
    list,
    listOf: async (imsis, signal) => {
      const commands = await extras(signal)
      if (!commands.has('batch') || !commands.has('show')) return await list(signal)
      const shown = await Promise.all(imsis.map((imsi) => call(['show', imsiText(imsi)], signal)))
      return { docs: shown.flatMap((ran) => listedBy(ran).docs), isCut: false }
    },
    setAmbr: async ({ imsi, ambrBps }, signal) => {
      const [down, up] = [rateParts(ambrBps.down), rateParts(ambrBps.up)]
      const rates = [down.value, down.unit, up.value, up.unit].map(String)
      return matchedBy(await call(['ambr_speed', imsiText(imsi), ...rates], signal)) > 0
    },
    add: async ({ imsi, ki, opc, apns: [apn = ''] }, signal) => {
      const keys = [ki, opc].map((key) => Buffer.from(key).toString('hex'))
      return addedBy(await call(['add_ue_with_apn', imsiText(imsi), ...keys, apnText(apn)], signal))
    },
    addApn: async (imsi, apn, signal) =>
      matchedBy(await call(['update_apn', imsiText(imsi), apnText(apn), '0'], signal)) > 0,
    remove: async (imsi, signal) => {
      for (let gone = 0; gone < DOUBLES_MAX; gone += 1) {
        if (deletedBy(await call(['remove', imsiText(imsi)], signal)) === 0) return gone
      }
      throw southboundUnavailable('dbctl remove finds ever more documents of one subscriber')
    },
    extra: async (name, args, signal) => matchedBy(await call([name, ...args], signal)) > 0,
  }
}

function uriFlag(url: string): readonly string[] {
  if (url === '') return []
  if (!URL_TEXT.test(url)) {
    throw validationFailed('hss.mongo_url holds characters that dbctl cannot be given; use docdb_shell')
  }
  const hasDatabase = /^mongodb(\+srv)?:\/\/[^/?]*\/[^?]/.test(url)
  const named = hasDatabase ? url : url.replace(/^([^?]*?:\/\/[^/?]*)\/?(\?.*)?$/, '$1/open5gs$2')
  return [`--db_uri=${named}`]
}

/** The password of a URL as it is written and as it is meant. */
function passwordsIn(url: string): readonly string[] {
  const written = /^[^/]*:\/\/[^:@/]*:([^@/]*)@/.exec(url)?.[1]
  if (written === undefined) return []
  try {
    return [written, decodeURIComponent(written)]
  } catch {
    return [written]
  }
}

function imsiText(imsi: Imsi): string {
  if (!IMSI.test(imsi)) throw validationFailed('an IMSI must be 6 to 15 digits')
  return imsi
}

function apnText(apn: string): string {
  if (!APN.test(apn)) throw validationFailed('an APN for dbctl must be letters, digits, dots and hyphens')
  return apn
}
