#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type Card, makeCard } from './apdu.ts'
import type { Curve } from './certificate.ts'
import { ChainError, type EuiccChain } from './chain.ts'
import { createEuicc, type Euicc } from './euicc.ts'
import { fromHex } from './octets.ts'
import type { SavedMemory } from './state.ts'

const USAGE = `lpac-main --euicc FILE [--lpac lpac] [--base-url http://127.0.0.1:PORT] [--curl] -- WORDS FOR lpac
  runs an unmodified lpac on the eUICC that FILE holds; its HTTP goes to --base-url, or by its own curl with --curl
`

const { values, positionals } = parseArgs({
  options: {
    euicc: { type: 'string' },
    lpac: { type: 'string', default: 'lpac' },
    'base-url': { type: 'string' },
    curl: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
if (values.euicc === undefined) {
  process.stderr.write(USAGE)
  process.exitCode = 2
} else process.exitCode = await run(values.euicc)

/** Runs lpac once; 0 when it ended well. */
async function run(file: string): Promise<number> {
  const { euicc, save } = await openEuiccFile(file)
  const bridge = lpacBridge(euicc, lpacFetch(values['base-url']))
  const child = spawn(values.lpac, positionals, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, LPAC_APDU: 'stdio', LPAC_HTTP: values.curl ? 'curl' : 'stdio' },
  })
  let code = 1
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = await bridge(line)
    if ('reply' in answer) child.stdin.write(`${answer.reply}\n`)
    else process.stdout.write(`${line}\n`)
    if ('result' in answer) code = answer.result.code === 0 ? 0 : 1
  }
  await save()
  return code
}

/** Carries an HTTP request of lpac: its URL, headers as lines, body → status and body. */
type LpacHttp = (
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
type LpacAnswer = { readonly reply: string } | { readonly result: LpacResult } | { readonly other: string }

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
function lpacFetch(baseUrl?: string): LpacHttp {
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

/** An eUICC as a file holds it: JSON, certificates in base64 (DER), keys in PEM (PKCS #8). Holds keys: mode 0600. */
export interface EuiccFile {
  readonly eid: string
  readonly chains: readonly {
    readonly curve: Curve
    readonly ci: string
    readonly eum: string
    readonly euicc: string
    readonly key: string
  }[]
  /** Absent before the first download. */
  readonly memory?: SavedMemory
}

/** An eUICC that is kept in a file. */
export interface KeptEuicc {
  readonly euicc: Euicc
  /** Writes its memory; whole or not at all. */
  save(): Promise<void>
}

/** What a file holds of an eUICC that was just made. */
export function newEuiccFile(eid: string, chains: readonly EuiccChain[]): EuiccFile {
  return {
    eid,
    chains: chains.map((chain) => ({
      curve: chain.curve,
      ci: base64(chain.ciDer),
      eum: base64(chain.eumDer),
      euicc: base64(chain.euiccDer),
      key: chain.euiccKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    })),
  }
}

/** Writes a file for an eUICC, for its owner alone. */
export async function writeEuiccFile(path: string, content: EuiccFile): Promise<void> {
  const fresh = `${path}.new`
  const file = await open(fresh, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(content)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(fresh, path)
}

/** The eUICC out of a file. Throws `ChainError` for what is none. */
export async function openEuiccFile(path: string): Promise<KeptEuicc> {
  const content = contentFrom(await readFile(path, 'utf8'), path)
  const euicc = createEuicc({
    eid: content.eid,
    chains: content.chains.map((chain) => ({
      curve: chain.curve,
      ciDer: octets(chain.ci),
      eumDer: octets(chain.eum),
      euiccDer: octets(chain.euicc),
      euiccKey: createPrivateKey(chain.key),
    })),
    ...(content.memory === undefined ? {} : { saved: content.memory }),
  })
  return { euicc, save: () => writeEuiccFile(path, { ...content, memory: euicc.save() }) }
}

function contentFrom(text: string, path: string): EuiccFile {
  try {
    const read = JSON.parse(text) as Partial<EuiccFile> | null // of our own making; createEuicc checks what counts
    if (typeof read?.eid === 'string' && Array.isArray(read.chains)) return read as EuiccFile
  } catch (cause) {
    throw new ChainError(`${path} is no JSON`, { cause })
  }
  throw new ChainError(`${path} holds no eUICC`)
}

function base64(octetsToShow: Uint8Array): string {
  return Buffer.from(octetsToShow).toString('base64')
}

function octets(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'base64'))
}
