import type { Route, Settings } from '@steeple/contracts'
import type { RouteSet } from '@steeple/kernel'
import type { Overrides } from '@steeple/testkit'
import { createEdge, type Edge, type EdgeOptions } from '../../src/index.ts'
import { type FakeKernel, fakeKernel } from './fake-kernel.ts'

/** The environment admin token of the tests. */
export const ADMIN_TOKEN = 'correct,horse;battery:staple!%'

/** What a request answered. `body` is the parsed JSON, when it is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // Tests look into bodies of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: read by assertions only
  readonly body: any
}

export interface Ask {
  readonly method?: string
  readonly token?: string
  readonly json?: unknown
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Record<string, string>
}

/** A listening edge over a fake kernel. */
export interface World extends AsyncDisposable {
  readonly edge: Edge
  readonly kernel: FakeKernel
  readonly url: string
  readonly port: number
  ask(path: string, how?: Ask): Promise<Answer>
  close(): Promise<void>
}

export interface WorldOptions extends Partial<EdgeOptions> {
  readonly settings?: Overrides<Settings>
}

/** A route set of a plugin that can be retired. */
export function routeSet(plugin: string, routes: readonly Route[]): RouteSet & { retire(): void } {
  const retiring = new AbortController()
  return { plugin, routes, retiring: retiring.signal, retire: () => retiring.abort() }
}

/** Serves the routes as one plugin `sample` on a free port of the loopback interface. */
export async function serveRoutes(routes: readonly Route[], options: WorldOptions = {}): Promise<World> {
  const { settings, ...edgeOptions } = options
  const kernel = fakeKernel(settings)
  const edge = createEdge(kernel, {
    adminToken: ADMIN_TOKEN,
    cursorSecret: Buffer.alloc(32, 7),
    listen: '127.0.0.1:0',
    checkResponses: true,
    ...edgeOptions,
  })
  await edge.swap(await edge.build([routeSet('sample', routes)]))
  const { port } = await edge.listen()
  const url = `http://127.0.0.1:${port}`
  const close = (): Promise<void> => edge.close()
  return {
    edge,
    kernel,
    url,
    port,
    ask: (path, how) => ask(`${url}${path}`, how),
    close,
    [Symbol.asyncDispose]: close,
  }
}

export async function ask(url: string, how: Ask = {}): Promise<Answer> {
  const headers = new Headers(how.headers)
  if (how.token !== undefined) headers.set('authorization', `Bearer ${how.token}`)
  if (how.json !== undefined) headers.set('content-type', 'application/json')
  const body = how.json === undefined ? how.body : JSON.stringify(how.json)
  const response = await fetch(url, {
    method: how.method ?? 'GET',
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}
