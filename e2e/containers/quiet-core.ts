import { once } from 'node:events'
import { createServer } from 'node:http'

const ADDRESS = ['127.0.0.2', 9090] as const
const NOBODY = '{"items":[],"pager":{"page":0,"page_size":100,"count":0}}'

/** An MME without phones where the product expects one: `/` and its lists, nothing else. */
export async function startQuietCore(): Promise<{ close(): void }> {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*/, '') ?? ''
    const body = path === '/' ? 'OK\n' : /^\/(ue|enb)-info$/.test(path) ? NOBODY : undefined
    response.writeHead(body === undefined ? 400 : 200, { connection: 'close' }).end(body ?? 'Bad Request\n')
  })
  server.listen(ADDRESS[1], ADDRESS[0])
  await once(server, 'listening')
  return {
    close: () => {
      server.close()
    },
  }
}
