import { CommandError, STATUS } from './codes.ts'
import type { Euicc } from './euicc.ts'
import { fromHex, isSame } from './octets.ts'

/** A card with an eUICC in it: command APDUs in, response APDUs out, as a reader has them. */
export interface Card {
  /** One command APDU → data and status word. Never throws. ISO/IEC 7816-4 §5. */
  transmit(command: Uint8Array): Uint8Array
  /** Opens a logical channel and selects; its number, or undefined when it cannot. */
  open(aid: Uint8Array): number | undefined
  close(channel: number): void
  /** Power on: channels and what was under way are gone. */
  reset(): void
}

interface CardOptions {
  /**
   * Octets in one response. A card in a reader gives at most 256 and the rest on GET RESPONSE (61xx); a driver that
   * carries more at once may say so.
   */
  readonly responseMax?: number
}

/** The application of an eUICC that an LPA talks to. SGP.22 §5.7.1. */
export const ISD_R: Uint8Array = Uint8Array.from(Buffer.from('a0000005591010ffffffff8900000100', 'hex'))

const CHANNELS = 4
const RESPONSE_MAX = 256
/** Octets of one command that is put together from blocks. */
const COMMAND_MAX = 65_536
/** STORE DATA: more blocks follow, or this is the last. GlobalPlatform 2.3 §11.11.2.1. */
const MORE_BLOCKS = 0x11
const LAST_BLOCK = 0x91
const INSTRUCTION = {
  manageChannel: 0x70,
  select: 0xa4,
  terminalCapability: 0xaa,
  getResponse: 0xc0,
  storeData: 0xe2,
} as const

interface Channel {
  isSelected: boolean
  blocks: Uint8Array[]
  /** What GET RESPONSE has yet to give. */
  rest: Uint8Array
}

interface Command {
  readonly channel: number
  readonly instruction: number
  readonly p1: number
  readonly p2: number
  readonly data: Uint8Array
}

/** A card over an eUICC: STORE DATA on logical channels, as SGP.22 §5.7.2 has it. */
export function makeCard(euicc: Euicc, options: CardOptions = {}): Card {
  const responseMax = options.responseMax ?? RESPONSE_MAX
  const channels = new Map<number, Channel>([[0, newChannel()]])
  const reset = (): void => {
    channels.clear()
    channels.set(0, newChannel())
    euicc.reset()
  }
  const open = (): number | undefined => {
    for (let number = 1; number < CHANNELS; number++)
      if (!channels.has(number)) {
        channels.set(number, newChannel())
        return number
      }
    return undefined
  }
  const select = (channel: Channel, aid: Uint8Array): boolean => {
    channel.isSelected = isSame(aid, ISD_R)
    channel.blocks = []
    return channel.isSelected
  }
  const answered = (command: Command): Uint8Array => {
    const channel = channels.get(command.channel)
    if (channel === undefined) throw new CommandError(STATUS.channelNotSupported, 'the channel is not open')
    switch (command.instruction) {
      case INSTRUCTION.manageChannel:
        return managed(command, channels, open)
      case INSTRUCTION.select:
        if (command.p1 !== 0x04 || !select(channel, command.data))
          throw new CommandError(STATUS.notFound, 'there is no such application')
        return word(STATUS.ok)
      case INSTRUCTION.terminalCapability:
        return word(STATUS.ok)
      case INSTRUCTION.getResponse:
        return portion(channel, responseMax)
      case INSTRUCTION.storeData:
        channel.rest = stored(euicc, channel, command)
        return portion(channel, responseMax)
      default:
        throw new CommandError(STATUS.instructionNotSupported, 'no such instruction')
    }
  }
  return {
    reset,
    open: (aid) => {
      const number = open()
      const channel = number === undefined ? undefined : channels.get(number)
      if (number === undefined || channel === undefined) return undefined
      if (select(channel, aid)) return number
      channels.delete(number)
      return undefined
    },
    close: (number) => {
      if (number !== 0) channels.delete(number)
    },
    transmit: (octets) => {
      try {
        return answered(commandFrom(octets))
      } catch (error) {
        if (error instanceof CommandError) return word(error.status)
        return word(STATUS.conditionsNotSatisfied)
      }
    },
  }
}

function newChannel(): Channel {
  return { isSelected: false, blocks: [], rest: new Uint8Array() }
}

function commandFrom(octets: Uint8Array): Command {
  const [cla, instruction, p1, p2, lc = 0] = octets
  if (cla === undefined || instruction === undefined || p1 === undefined || p2 === undefined)
    throw new CommandError(STATUS.wrongLength, 'the command has no four octets')
  if (cla >= 0xc0) throw new CommandError(STATUS.classNotSupported, 'no such class')
  // Five octets: the fifth is what may be answered (Le); more: what was sent (Lc), then perhaps Le.
  const isShort = octets.length <= 5
  if (!isShort && octets.length !== 5 + lc && octets.length !== 6 + lc)
    throw new CommandError(STATUS.wrongLength, 'the command is not as long as it says')
  const data = isShort ? new Uint8Array() : octets.subarray(5, 5 + lc)
  return { channel: cla & 0x03, instruction, p1, p2, data }
}

/** MANAGE CHANNEL. ISO/IEC 7816-4 §7.1.2. */
function managed(
  command: Command,
  channels: Map<number, Channel>,
  open: () => number | undefined,
): Uint8Array {
  if (command.p1 === 0x80) {
    if (command.p2 === 0 || !channels.delete(command.p2))
      throw new CommandError(STATUS.wrongParameters, 'the channel is not open')
    return word(STATUS.ok)
  }
  const number = command.p1 === 0 && command.p2 === 0 ? open() : undefined
  if (number === undefined) throw new CommandError(STATUS.channelNotSupported, 'no channel is free')
  return Uint8Array.of(number, ...word(STATUS.ok))
}

/** One block of STORE DATA; the answer of the command with its last. */
function stored(euicc: Euicc, channel: Channel, command: Command): Uint8Array {
  if (!channel.isSelected) throw new CommandError(STATUS.conditionsNotSatisfied, 'no application is selected')
  if (command.p1 !== MORE_BLOCKS && command.p1 !== LAST_BLOCK)
    throw new CommandError(STATUS.wrongParameters, 'only blocks of BER-TLV are taken')
  if (command.p2 === 0) channel.blocks = []
  if (command.p2 !== channel.blocks.length % 256) {
    channel.blocks = []
    throw new CommandError(STATUS.wrongParameters, 'a block is missing')
  }
  channel.blocks.push(Uint8Array.from(command.data))
  if (channel.blocks.length * 255 > COMMAND_MAX)
    throw new CommandError(STATUS.noMemory, 'the command is too long')
  if (command.p1 === MORE_BLOCKS) return new Uint8Array()
  const whole = Buffer.concat(channel.blocks)
  channel.blocks = []
  return euicc.execute(Uint8Array.from(whole))
}

/** As much of an answer as one response holds. */
function portion(channel: Channel, responseMax: number): Uint8Array {
  const given = channel.rest.subarray(0, responseMax)
  channel.rest = channel.rest.subarray(given.length)
  if (channel.rest.length === 0) return Uint8Array.of(...given, ...word(STATUS.ok))
  return Uint8Array.of(...given, 0x61, channel.rest.length > 255 ? 0 : channel.rest.length)
}

function word(status: number): Uint8Array {
  return Uint8Array.of(status >> 8, status & 0xff)
}

/** Carries an HTTP request of lpac: its URL, headers as lines, body → status and body. */
export type LpacHttp = (
  url: string,
  headers: readonly string[],
  body: Uint8Array,
) => Promise<{ readonly status: number; readonly body: Uint8Array }>

/** What lpac said at its end. */
interface LpacResult {
  readonly code: number
  readonly message: string
  readonly data: unknown
}

/** One line of lpac's standard output → the line to send back, or what it ended with. */
export type LpacAnswer =
  | { readonly reply: string }
  | { readonly result: LpacResult }
  | { readonly other: string }

/** The host's side of lpac's stdio drivers. Source: lpac docs/backends/stdio-schema.json. */
export function lpacBridge(euicc: Euicc, http: LpacHttp): (line: string) => Promise<LpacAnswer> {
  const card = makeCard(euicc)
  return async (line) => {
    const message = parsed(line)
    const payload = message?.payload
    if (message?.type === 'apdu') return reply('apdu', apduAnswer(card, payload?.func, payload?.param))
    if (message?.type === 'http') return reply('http', await httpAnswer(http, payload))
    if (message?.type === 'lpa')
      return {
        result: {
          code: Number(payload?.code),
          message: String(payload?.message),
          data: payload?.data,
        },
      }
    return { other: line }
  }
}

/** Carries lpac's requests by `fetch`, to `baseUrl` in place of the server of the URL when it is given. */
export function lpacFetch(baseUrl?: string): LpacHttp {
  return async (url, headers, body) => {
    const { pathname } = new URL(url)
    const answer = await fetch(baseUrl === undefined ? url : `${baseUrl}${pathname}`, {
      method: 'POST',
      headers: Object.fromEntries(headers.map(headerOf)),
      body: Buffer.from(body),
      redirect: 'error',
    })
    return { status: answer.status, body: new Uint8Array(await answer.arrayBuffer()) }
  }
}

function headerOf(line: string): readonly [string, string] {
  const at = line.indexOf(':')
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

interface Message {
  readonly type?: unknown
  readonly payload?: Readonly<Record<string, unknown>>
}

function parsed(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message // each part is looked at where it is used
  } catch {
    return undefined
  }
}

function reply(type: string, payload: object): LpacAnswer {
  return { reply: JSON.stringify({ type, payload }) }
}

function apduAnswer(card: Card, name: unknown, param: unknown): object {
  const octets = fromHex(typeof param === 'string' ? param : '')
  switch (name) {
    case 'connect':
      card.reset()
      return { ecode: 0 }
    case 'logic_channel_open':
      return { ecode: card.open(octets) ?? -1 }
    case 'logic_channel_close':
      card.close(octets[0] ?? 0)
      return { ecode: 0 }
    case 'transmit':
      return { ecode: 0, data: Buffer.from(card.transmit(octets)).toString('hex') }
    default:
      return { ecode: 0 }
  }
}

async function httpAnswer(
  http: LpacHttp,
  payload: Readonly<Record<string, unknown>> | undefined,
): Promise<object> {
  const headers = Array.isArray(payload?.headers) ? payload.headers.map(String) : []
  const body = fromHex(String(payload?.tx ?? ''))
  const answer = await http(String(payload?.url), headers, body)
  return { rcode: answer.status, rx: Buffer.from(answer.body).toString('hex') }
}
