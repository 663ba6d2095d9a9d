import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/** A body with its content type; text without one has none. */
export interface InfoAnswer {
  readonly kind: 'json' | 'metrics'
  readonly body: string
}

/** What a daemon serves, by path. */
export type InfoRoutes = Readonly<Record<string, (query: URLSearchParams) => InfoAnswer>>

const TYPES: Readonly<Record<InfoAnswer['kind'], readonly string[]>> = {
  json: ['Content-Type', 'application/json', 'Access-Control-Allow-Origin', '*'],
  metrics: ['Content-Type', 'text/plain; version=0.0.4; charset=utf-8'],
}

/** The HTTP server that Open5GS' daemons have for metrics and info: the same answers, byte for byte. */
export function infoServer(routes: InfoRoutes): Server {
  return createServer((request, response) => {
    request.resume()
    answer(routes, request, response)
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
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (route === undefined) {
    send(response, 400, [], 'Bad Request\n')
    return
  }
  const { kind, body } = route(new URLSearchParams(query))
  send(response, 200, TYPES[kind], body)
}

function send(response: ServerResponse, status: number, type: readonly string[], body: string): void {
  const head = ['Date', new Date().toUTCString(), 'Connection', 'close', ...type]
  response.writeHead(status, [...head, 'Content-Length', String(Buffer.byteLength(body))])
  response.end(body)
}
