import { messageOf, secretLines, southboundUnavailable } from '@steeple/contracts'

/** What turns a cell on and off that runs by itself. Every call throws `southbound_unavailable` when it is not certain. */
export interface CellSwitch {
  /** The switch has taken it when it resolves. What it has become of the cell, `read` tells. */
  turn(isOn: boolean, signal: AbortSignal): Promise<void>
  /** What the switch says now, asked of it anew. */
  read(signal: AbortSignal): Promise<SwitchReading>
}

/** What a switch says. */
export interface SwitchReading {
  readonly isOn: boolean
  /** What says more of the cell than its switch; undefined where there is nothing. */
  readonly meter?: Meter
  /** The channel that the cell is set to; undefined where the switch does not know it. */
  readonly channel?: CellChannel
}

/** Downlink EARFCN or NR-ARFCN: several when the cell may choose among them. */
export type CellChannel = { readonly numbers: readonly number[] } | { readonly unknown: string }

/** `power`: what the cell draws. `transmitter`: what the cell itself says of its transmitter. */
export interface Meter {
  readonly of: 'power' | 'transmitter'
  readonly isZero: boolean
  /** For people: `12.3 W`. */
  readonly shown: string
}

/** How a switch is reached: exactly one of them. */
export type SwitchConfig =
  | { readonly command: CommandConfig }
  | { readonly http: HttpConfig }
  | { readonly snmp: SnmpConfig }
  | { readonly genieacs: GenieacsConfig }

/** Programs of this machine, each with its arguments. */
export interface CommandConfig {
  readonly on: readonly string[]
  readonly off: readonly string[]
  /** Prints `on` or `off`; behind it the watts that the cell draws, and `channel` with its number, where it knows them. */
  readonly status: readonly string[]
  /** Lines `NAME=value` for the environment of the programs. */
  readonly env_file?: string
}

interface HttpCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body?: string
}

type Scalar = string | number | boolean

/** Calls of a web relay, a smart plug, or the cell's own interface. */
export interface HttpConfig {
  readonly on: HttpCall
  readonly off: HttpCall
  /** Where the answer to a GET says `on` or `off`, by JSON pointer. */
  readonly status: {
    readonly url: string
    readonly pointer: string
    readonly on: Scalar
    readonly off: Scalar
  }
  /** Where an answer has the watts; `url` is that of `status` where it is left out. */
  readonly power?: { readonly url?: string; readonly pointer: string }
  /** Where an answer has the channel of the cell, as `power`. */
  readonly channel?: { readonly url?: string; readonly pointer: string }
  readonly content_type?: string
  /** Statuses that say that a call was taken; every 2xx when left out. */
  readonly expected_status?: readonly number[]
  readonly authorization_file?: string
  readonly ca_file?: string
}

/** A port with power over Ethernet, by POWER-ETHERNET-MIB (RFC 3621). */
export interface SnmpConfig {
  readonly host: string
  readonly port?: number
  /** pethPsePortGroupIndex and pethPsePortIndex. */
  readonly group?: number
  readonly port_index: number
  /** What the port draws, of the maker's own MIB, and how many of it are a watt. */
  readonly power?: { readonly oid: string; readonly per_watt?: number }
  /** SNMPv2c. */
  readonly community_file?: string
  /** SNMPv3. */
  readonly user?: string
  readonly auth?: 'sha' | 'sha224' | 'sha256' | 'sha384' | 'sha512'
  readonly auth_file?: string
  readonly priv?: 'aes' | 'aes256b' | 'aes256r'
  readonly priv_file?: string
}

/** The northbound interface of GenieACS; the parameters are those of TR-196. */
export interface GenieacsConfig {
  readonly url: string
  readonly device: string
  readonly admin?: string
  readonly transmitter?: string
  /** The channel of the downlink; of an LTE cell that of TR-196 when left out. */
  readonly channel?: string
  readonly authorization_file?: string
  readonly ca_file?: string
}

/** The first line of a file with a secret. Throws `southbound_unavailable` that says what is wrong with the file. */
export async function secretOf(path: string): Promise<string> {
  const [line = ''] = await linesOf(path)
  return line
}

/** The lines of a file with secrets. Throws as `secretOf`. */
export async function linesOf(path: string): Promise<readonly string[]> {
  try {
    return await secretLines(path)
  } catch (error) {
    throw southboundUnavailable(messageOf(error), { cause: error })
  }
}

/** What a cell says of its channel: a number, or several with commas between them. */
export function cellChannel(value: unknown, source: string): CellChannel {
  const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : [value]
  const numbers = parts.filter((part) => part !== '').map(Number)
  const isGiven = numbers.length > 0 && numbers.every((one) => Number.isInteger(one) && one >= 0)
  return isGiven && typeof value !== 'boolean' && value !== null
    ? { numbers }
    : { unknown: `${source} gives no channel` }
}

/** Watts as a meter. Throws `southbound_unavailable` for what is no number: it is not known to be none. */
export function powerMeter(value: unknown, source: string): Meter {
  const watts = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof watts !== 'number' || !Number.isFinite(watts) || watts < 0)
    throw southboundUnavailable(`${source} gives no power in watts`)
  return { of: 'power', isZero: watts === 0, shown: `${watts} W` }
}
