import {
  type Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { type Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { southboundUnavailable } from '@steeple/contracts'

/** One request over HTTP/1.1, or over HTTPS when the URL says so. */
export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Whose connections it goes over; one of its own when absent. */
  readonly agent?: HttpAgent | HttpsAgent
  /**
   * What is asked may be asked twice: it is sent once more when a kept connection had gone with the server that it was to.
   */
  readonly mayRepeat?: boolean
}

/** What came back. */
export interface HttpExchanged {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/**
 * Sends a request and reads its answer; no redirect is followed. Rejects with the socket's error, with `southbound_unavailable`
 * when the answer has more than `maxBytes`, or with an AbortError when the signal fires.
 */
export async function httpExchange(
  request: HttpRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<HttpExchanged> {
  const response = await sent(request, signal, request.mayRepeat === true)
  const text = await bodyOf(response, maxBytes)
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

function sent(request: HttpRequest, signal: AbortSignal, mayRepeat: boolean): Promise<IncomingMessage> {
  const { method, url, headers = {}, body, agent } = request
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { ...urlToHttpOptions(url), method, agent: agent ?? false, headers, signal }
  const outgoing = url.protocol === 'https:' ? requestHttps(options) : requestHttp(options)
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET' && mayRepeat
    if (isStale) sent(request, signal, false).then(resolve, reject)
    else reject(error)
  })
  outgoing.on('response', resolve)
  outgoing.end(body)
  return promise
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response) {
    // A response without an encoding gives buffers.
    const chunk = part as Buffer
    bytes += chunk.length
    if (bytes > maxBytes) {
      response.destroy()
      throw southboundUnavailable(`the answer is larger than ${maxBytes} bytes`)
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}
