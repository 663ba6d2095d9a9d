import { closed, type InfoFault, infoServer, type Json, listening, pageOf } from './info-server.ts'

/** What a daemon shows: its metrics, and its lists by path. A path without a list is refused as an old release does. */
export interface ShownDaemon {
  readonly metrics?: () => string
  readonly list: (path: string) => readonly unknown[] | undefined
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
export async function listedCore<Daemon extends string>(
  daemons: Readonly<Record<Daemon, ShownDaemon>>,
): Promise<ListedCore<Daemon>> {
  const names = Object.keys(daemons) as Daemon[] // its own keys
  const core: ListedCore<Daemon> = {
    asked: [],
    fault: () => undefined,
    afterPage: () => undefined,
    url: (daemon) => urls.get(daemon) ?? '',
    stop: (daemon) => closed(servers[daemon]),
    close: async () => {
      await Promise.all(names.map((daemon) => closed(servers[daemon])))
    },
  }
  const serverOf = (daemon: Daemon) => {
    const { metrics, list } = daemons[daemon]
    const page = (path: string, query: URLSearchParams) => {
      const items = list(path)
      if (items === undefined) return undefined
      const hasAllAtOnce = path === '/enb-info' || path === '/gnb-info'
      // What a test shows is JSON.
      const body = pageOf(
        { path, hasAllAtOnce, items: items as readonly Json[], show: (item) => item },
        query,
      )
      setImmediate(() => core.afterPage())
      return { kind: 'json', body } as const
    }
    const lists = LISTS.map((path) => [path, (query: URLSearchParams) => page(path, query)] as const)
    const routes = {
      ...Object.fromEntries(lists),
      ...(metrics && { '/metrics': () => ({ kind: 'metrics', body: metrics() }) as const }),
    }
    return infoServer(routes, (url) => {
      core.asked.push({ daemon, path: url })
      return core.fault(daemon, url.replace(/\?.*/, ''))
    })
  }
  const servers = Object.fromEntries(names.map((daemon) => [daemon, serverOf(daemon)])) as Record<
    Daemon,
    ReturnType<typeof infoServer>
  >
  const urls = new Map<Daemon, string>()
  for (const daemon of names)
    urls.set(daemon, await listening(servers[daemon], { host: '127.0.0.1', port: 0 }))
  return core
}
