import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

const INT_MAX = 2 ** 31 - 1

/** A value as cJSON's unformatted print has it; numbers are doubles printed by `cjsonNumber`. */
export function cjson(value: Json): string {
  if (typeof value === 'number') return cjsonNumber(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(cjson).join(',')}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${cjson(member)}`)
  return `{${members.join(',')}}`
}

/**
 * A number as cJSON 1.7 prints it: an int as `%d`, anything else as `%1.15g` when that reads back as (nearly) the same
 * number, else as `%1.17g`. So a timestamp of 16 digits that ends in 0 comes with an exponent.
 */
export function cjsonNumber(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Number.isInteger(value) && Math.abs(value) <= INT_MAX) return String(value)
  const short = general(value, 15)
  return isNearly(Number(short), value) ? short : general(value, 17)
}

/** C's `%.<precision>g`. */
function general(value: number, precision: number): string {
  const [mantissa = '0', exponentText = '0'] = value.toExponential(precision - 1).split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= precision) {
    const sign = exponent < 0 ? '-' : '+'
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  return trimmed(value.toFixed(precision - 1 - exponent))
}

function trimmed(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
}

function isNearly(left: number, right: number): boolean {
  return Math.abs(left - right) <= Math.max(Math.abs(left), Math.abs(right)) * Number.EPSILON
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** A list that the info API serves. */
export interface Listing<T> {
  readonly path: string
  /** Whether `page=-1` means all at once; where it does not it means the first page. */
  readonly hasAllAtOnce: boolean
  readonly items: readonly T[]
  readonly show: (item: T) => Json
}

/** The default and the most items of a page. */
const PAGE_SIZE = 100
/** More than this comes out as `{}`. */
const OUTPUT_MAX = 512 * 1024

/**
 * One page of a listing as Open5GS prints it: `next` and `prev` without `page_size`, numbers that cannot be read as
 * their defaults, nothing but `{}` above 512 KiB.
 */
export function pageOf<T>(listing: Listing<T>, query: URLSearchParams): string {
  const { path, items, show, hasAllAtOnce } = listing
  if (query.get('page') === '-1' && hasAllAtOnce) {
    return bounded({ items: items.map(show), pager: { page: 0, page_size: 0, count: items.length } })
  }
  const page = numberIn(query, 'page', 0)
  const size = Math.min(numberIn(query, 'page_size', PAGE_SIZE) || PAGE_SIZE, PAGE_SIZE)
  const shown = items.slice(page * size, (page + 1) * size)
  const hasNext = items.length > (page + 1) * size
  const pager: Json = {
    page,
    page_size: size,
    count: shown.length,
    ...(page > 0 ? { prev: `${path}?page=${page - 1}` } : {}),
    ...(hasNext ? { next: `${path}?page=${page + 1}` } : {}),
  }
  return bounded({ items: shown.map(show), pager })
}

function bounded(body: Json): string {
  const text = cjson(body)
  return Buffer.byteLength(text) >= OUTPUT_MAX ? '{}' : text
}

function numberIn(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name) ?? ''
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : fallback
}

/** A body with its content type; text without one has none. */
interface InfoAnswer {
  readonly kind: 'json' | 'metrics'
  readonly body: string
}

/** What a daemon serves, by path. */
export type InfoRoutes = Readonly<Record<string, (query: URLSearchParams) => InfoAnswer | undefined>>

const TYPES: Readonly<Record<InfoAnswer['kind'], readonly string[]>> = {
  json: ['Content-Type', 'application/json', 'Access-Control-Allow-Origin', '*'],
  metrics: ['Content-Type', 'text/plain; version=0.0.4; charset=utf-8'],
}

/** What a request gets in place of its answer: a body, a status, silence, or a broken connection. */
export interface InfoFault {
  readonly status?: number
  readonly body?: string
  readonly how?: 'hang' | 'break'
}

/** The HTTP server that Open5GS' daemons have for metrics and info: the same answers, byte for byte, unless `fault` gives one. */
export function infoServer(
  routes: InfoRoutes,
  fault: (url: string) => InfoFault | undefined = () => undefined,
): Server {
  return createServer((request, response) => {
    request.resume()
    const found = fault(request.url ?? '/')
    if (found === undefined) answer(routes, request, response)
    else if (found.how === 'break') response.destroy()
    else if (found.how !== 'hang') response.writeHead(found.status ?? 200).end(found.body ?? '')
  })
}

function answer(routes: InfoRoutes, { method, url = '/' }: IncomingMessage, response: ServerResponse): void {
  if (method !== 'GET') {
    send(response, 400, [], 'Invalid HTTP Method\n')
    return
  }
  const [path = '', query = ''] = url.split('?', 2)
  if (path === '/') {
    send(response, 200, [], 'OK\n')
    return
  }
  const answered = Object.hasOwn(routes, path) ? routes[path]?.(new URLSearchParams(query)) : undefined
  if (answered === undefined) {
    send(response, 400, [], 'Bad Request\n')
    return
  }
  const { kind, body } = answered
  send(response, 200, TYPES[kind], body)
}

function send(response: ServerResponse, status: number, type: readonly string[], body: string): void {
  const head = ['Date', new Date().toUTCString(), 'Connection', 'close', ...type]
  response.writeHead(status, [...head, 'Content-Length', String(Buffer.byteLength(body))])
  response.end(body)
}

/** An address to listen on; port 0 takes a free one. */
export interface Listen {
  readonly host: string
  readonly port: number
}

/** Listens there; answers the base address as it came out, `http://host:port`. */
export async function listening(server: Server, { host, port }: Listen): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: taken } = server.address() as AddressInfo // of a TCP server that listens
  return `http://${address}:${taken}`
}

/** Ends a server and its connections. */
export async function closed(server: Server): Promise<void> {
  if (!server.listening) return
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

/** What daemons show: their metrics, and their lists by path. A path without a list is refused as an old release does. */
interface Shown<Daemon extends string, Item> {
  readonly metrics?: (daemon: Daemon) => string
  readonly list: (daemon: Daemon, path: string) => readonly Item[] | undefined
  /** How an item of a list is shown; as it is when absent. */
  readonly show?: (item: Item) => unknown
}

/** Daemons of Open5GS that show what a test says, with faults that can be switched on. */
export interface ListedCore<Daemon extends string> {
  readonly asked: { readonly daemon: Daemon; readonly path: string }[]
  /** What a request gets in place of its answer. */
  fault: (daemon: Daemon, path: string) => InfoFault | undefined
  /** Called after each page of a list, before the next one. */
  afterPage: () => void
  url(daemon: Daemon): string
  stop(daemon: Daemon): Promise<void>
  close(): Promise<void>
}

const LISTS: readonly string[] = ['/ue-info', '/enb-info', '/gnb-info', '/pdu-info']

/** Serves each daemon on a port of its own, page by page from what is in its lists at that moment. */
export async function listedCore<const Daemon extends string, Item>(
  daemons: readonly Daemon[],
  { metrics, list, show = (item) => item }: Shown<Daemon, Item>,
): Promise<ListedCore<Daemon>> {
  const servers = new Map<Daemon, Server>()
  const urls = new Map<Daemon, string>()
  const core: ListedCore<Daemon> = {
    asked: [],
    fault: () => undefined,
    afterPage: () => undefined,
    url: (daemon) => urls.get(daemon) ?? '',
    stop: async (daemon) => {
      const server = servers.get(daemon)
      if (server !== undefined) await closed(server)
    },
    close: async () => {
      await Promise.all([...servers.values()].map(closed))
    },
  }
  const page = (daemon: Daemon, path: string, query: URLSearchParams) => {
    const items = list(daemon, path)
    if (items === undefined) return undefined
    const hasAllAtOnce = path === '/enb-info' || path === '/gnb-info'
    // What a test shows is JSON.
    const body = pageOf({ path, hasAllAtOnce, items, show: (item) => show(item) as Json }, query)
    setImmediate(() => core.afterPage())
    return { kind: 'json', body } as const
  }
  for (const daemon of daemons) {
    const lists = LISTS.map((path) => [path, (query: URLSearchParams) => page(daemon, path, query)] as const)
    const routes = {
      ...Object.fromEntries(lists),
      ...(metrics && { '/metrics': () => ({ kind: 'metrics', body: metrics(daemon) }) as const }),
    }
    const server = infoServer(routes, (url) => {
      core.asked.push({ daemon, path: url })
      return core.fault(daemon, url.replace(/\?.*/, ''))
    })
    servers.set(daemon, server)
    urls.set(daemon, await listening(server, { host: '127.0.0.1', port: 0 }))
  }
  return core
}
