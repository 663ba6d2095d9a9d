import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import type { Terminal } from '../src/terminal.ts'
import { type Run, svc } from './svc.ts'

/** One request as it came in. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** What is answered; `reset` breaks the connection instead. */
export type Answer =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'reset'

/** A service that answers what a test says. */
export interface FakeService extends AsyncDisposable {
  readonly url: string
  readonly seen: readonly Seen[]
  close(): Promise<void>
}

/** JSON is parsed, everything else stays a text. */
function bodyOf(raw: string, headers: IncomingHttpHeaders): unknown {
  if (raw === '') return undefined
  return headers['content-type'] === 'application/json' ? JSON.parse(raw) : raw
}

/** Listens on a free loopback port. `answer` gets each request and how many came before it. */
export async function fakeService(answer: (request: Seen, before: number) => Answer): Promise<FakeService> {
  const seen: Seen[] = []
  const server = createServer((incoming, outgoing) => {
    void text(incoming).then((raw) => {
      const url = new URL(incoming.url ?? '/', 'http://localhost')
      const request: Seen = {
        method: incoming.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: incoming.headers,
        body: bodyOf(raw, incoming.headers),
      }
      const reply = answer(request, seen.length)
      seen.push(request)
      if (reply === 'reset') {
        incoming.socket.resetAndDestroy()
        return
      }
      const headers = { 'content-type': 'application/json', 'x-request-id': 'req-1', ...reply.headers }
      outgoing.writeHead(reply.status ?? 200, headers)
      outgoing.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
    })
  })
  const { url, close } = await listen(server)
  return { url, seen, close, [Symbol.asyncDispose]: close }
}

/** Runs a command against a service that answers so. */
export async function against(
  answer: (request: Seen, before: number) => Answer,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<Run & { readonly seen: readonly Seen[] }> {
  await using service = await fakeService(answer)
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test', ...options.env }
  const run = await svc(args, { ...options, env })
  return { ...run, seen: service.seen }
}

/** A terminal that nobody looks at. */
export function deafTerminal(env: Terminal['env'], cwd = '/'): Terminal {
  const nothing = (): void => undefined
  return {
    ...{ env, cwd, columns: undefined, isWatched: false, out: nothing, err: nothing, answer: nothing },
    input: async () => '',
    octets: async () => Buffer.alloc(0),
  }
}
