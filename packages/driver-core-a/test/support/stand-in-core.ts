import { createServer, type Server, type ServerResponse } from 'node:http'
import { METRICS_RECORDINGS } from './metrics-recordings.ts'
import { type Phone, pduItem, ueItem } from './phones.ts'
import { recordedItem, recording } from './recordings.ts'

/** The daemons of the stand-in that have an HTTP server. */
export type StandInDaemon = keyof typeof METRICS_RECORDINGS

/** What a request gets instead: a body, a status, silence, or a broken connection. */
export type Odd = { readonly status?: number; readonly body?: string; readonly how?: 'hang' | 'break' }

/** A core made of recordings: real HTTP servers that answer as Open5GS' do. */
export interface StandInCore {
  readonly phones: Phone[]
  readonly asked: { readonly daemon: StandInDaemon; readonly path: string }[]
  release: '2.8.0' | '2.7.7' | '2.7.6'
  /** The network that it serves, MCC and MNC; recordings are of 99970. */
  plmn: string
  /** eNBs and gNBs, by recorded entries. */
  readonly radios: Record<'mme' | 'amf', Record<string, unknown>[]>
  /** Overrides an answer. */
  odd: (daemon: StandInDaemon, path: string) => Odd | undefined
  /** Called after each page of a list, before the next one. */
  afterPage: () => void
  url(daemon: StandInDaemon): string
  stop(daemon: StandInDaemon): Promise<void>
  close(): Promise<void>
}

const PAGE = 100
const DAEMONS = Object.keys(METRICS_RECORDINGS) as StandInDaemon[] // its own keys

/** Starts the servers of all daemons on ports of their own. */
export async function standInCore(): Promise<StandInCore> {
  const servers = new Map<StandInDaemon, Server>()
  const ports = new Map<StandInDaemon, number>()
  const core: StandInCore = {
    phones: [],
    asked: [],
    release: '2.8.0',
    plmn: '99999',
    radios: {
      mme: [recordedItem('mme-enb-info.one-ue-connected.json.txt')],
      amf: [recordedItem('amf-gnb-info.registered-one-pdu.json.txt')],
    },
    odd: () => undefined,
    afterPage: () => undefined,
    url: (daemon) => {
      const port = ports.get(daemon)
      return `http://127.0.0.1:${port}`
    },
    stop: async (daemon) => {
      await closed(servers.get(daemon))
    },
    close: async () => {
      await Promise.all([...servers.values()].map(closed))
    },
  }
  for (const daemon of DAEMONS) {
    const server = createServer((request, response) => {
      response.setHeader('connection', 'close')
      core.asked.push({ daemon, path: request.url ?? '' })
      if (request.method !== 'GET') response.writeHead(400).end('Invalid HTTP Method\n')
      else answer(core, daemon, new URL(request.url ?? '/', 'http://core'), response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.set(daemon, server)
    const address = server.address()
    if (typeof address === 'object' && address !== null) ports.set(daemon, address.port)
  }
  return core
}

function answer(core: StandInCore, daemon: StandInDaemon, url: URL, response: ServerResponse): void {
  const odd = core.odd(daemon, url.pathname)
  if (odd?.how === 'hang') return
  if (odd?.how === 'break') {
    response.destroy()
    return
  }
  if (odd !== undefined) {
    response.writeHead(odd.status ?? 200).end(odd.body ?? '')
    return
  }
  if (url.pathname === '/') response.end('OK\n')
  else if (url.pathname === '/metrics') response.end(recording(METRICS_RECORDINGS[daemon]))
  else list(core, daemon, url, response)
}

function list(core: StandInCore, daemon: StandInDaemon, url: URL, response: ServerResponse): void {
  const { release } = core
  const found = release === '2.7.6' ? undefined : entriesOf(core, daemon, url.pathname)
  if (found === undefined) {
    response.writeHead(400).end('Bad Request\n')
    return
  }
  const page = Number(url.searchParams.get('page') ?? 0)
  const part = found.entries
    .slice(page * PAGE, (page + 1) * PAGE)
    // Entry and reader belong together.
    .map((entry) => found.itemOf(entry as never, release === '2.7.7' ? release : '2.8.0'))
  const pager = {
    page,
    page_size: PAGE,
    count: part.length,
    ...(page > 0 ? { prev: `${url.pathname}?page=${page - 1}` } : {}),
    ...(found.entries.length > (page + 1) * PAGE ? { next: `${url.pathname}?page=${page + 1}` } : {}),
  }
  // As cJSON prints a time of 16 digits: the last ones are lost.
  const text = JSON.stringify({ items: part, pager })
    .replaceAll('1795175304512721', '1.79517530451272e+15')
    .replaceAll('"99970"', `"${core.plmn}"`)
  response.setHeader('content-type', 'application/json')
  response.end(text)
  core.afterPage()
}

interface Found {
  readonly entries: readonly unknown[]
  readonly itemOf: (entry: never, release: '2.8.0' | '2.7.7') => unknown
}

function entriesOf({ phones, radios }: StandInCore, daemon: StandInDaemon, path: string): Found | undefined {
  const technology = daemon === 'mme' ? 'lte' : 'nr'
  if (path === '/ue-info' && (daemon === 'mme' || daemon === 'amf'))
    return { entries: phones.filter((one) => one.technology === technology), itemOf: ueItem }
  if (path === '/enb-info' && daemon === 'mme') return { entries: radios.mme, itemOf: (entry) => entry }
  if (path === '/gnb-info' && daemon === 'amf') return { entries: radios.amf, itemOf: (entry) => entry }
  if (path === '/pdu-info' && daemon === 'smf')
    return { entries: phones.filter((one) => one.hasSession), itemOf: pduItem }
  return undefined
}

async function closed(server: Server | undefined): Promise<void> {
  if (server?.listening !== true) return
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}
