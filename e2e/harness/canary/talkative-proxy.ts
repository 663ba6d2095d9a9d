import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How a source answers: as it is, cut off in the middle, with an error page that repeats all, or with what is no JSON. */
export type Mood = 'well' | 'torn' | 'failing' | 'nonsense'

/** A source between a core and who asks it, which can be made to answer badly. */
export interface TalkativeProxy {
  readonly url: string
  mood: Mood
  close(): Promise<void>
}

/** `answer` gives the body for a path with its query. */
export async function startTalkativeProxy(
  answer: (path: string) => Promise<string>,
): Promise<TalkativeProxy> {
  const proxy = { mood: 'well' as Mood }
  const server = createServer((request, response) => {
    answer(request.url ?? '/').then(
      (body) => {
        const type = { 'content-type': 'application/json' }
        if (proxy.mood === 'failing') response.writeHead(500, type).end(`cannot serve ${body}`)
        else if (proxy.mood === 'nonsense') response.writeHead(200, type).end(`{"said": ${body}} and ${body}`)
        else if (proxy.mood === 'torn') response.writeHead(200, type).end(body.slice(0, -20))
        else response.writeHead(200, type).end(body)
      },
      () => response.writeHead(502).end(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  })
}
