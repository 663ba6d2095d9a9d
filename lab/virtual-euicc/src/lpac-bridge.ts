import { type Card, makeCard } from './apdu.ts'
import type { Euicc } from './euicc.ts'
import { fromHex } from './octets.ts'

/** Carries an HTTP request of lpac: its URL, headers as lines, body → status and body. */
export type LpacHttp = (
  url: string,
  headers: readonly string[],
  body: Uint8Array,
) => Promise<{ readonly status: number; readonly body: Uint8Array }>

/** What lpac said at its end. */
export interface LpacResult {
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
