import type { Server } from 'node:http'
import { closed, type InfoFault, infoServer, type Json, listening, pageOf } from './info-server.ts'

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
