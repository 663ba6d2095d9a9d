import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from '@steeple/testkit'

export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What a server answers to the requests that arrive, in their order; the last answer again for all further ones. */
export type Script = readonly ((request: Arrived, response: ServerResponse) => void)[]

/** A server that answers by a script. */
export interface ScriptedServer {
  readonly url: string
  readonly arrived: readonly Arrived[]
  /** Ends every connection at once. */
  cut(): void
  close(): Promise<void>
}

/** Starts it on a free port of loopback. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const arrived: Arrived[] = []
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (piece: string) => {
      body += piece
    })
    incoming.on('error', () => undefined)
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming
      const request = { method, url, headers, body }
      arrived.push(request)
      script[Math.min(arrived.length, script.length) - 1]?.(request, response)
    })
  })
  const { url, close } = await listen(server)
  return { url, arrived, cut: () => server.closeAllConnections(), close }
}

/** Answers JSON. */
export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Script[number] {
  return (_, response) => {
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'r1',
      ...headers,
    })
    response.end(JSON.stringify(body))
  }
}

/** Answers an error of the service. */
export function failing(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Script[number] {
  return json(status, { error: { code, message: `it is ${code}` } }, headers)
}

/** Ends the connection without an answer. */
export const hangUp: Script[number] = (_, response) => {
  response.socket?.destroy()
}
