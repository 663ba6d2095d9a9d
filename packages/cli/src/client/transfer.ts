import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { failure } from '../command-error.ts'
import { type Incoming, type Outgoing, wayTo } from './exchange.ts'
import { networkError } from './network-error.ts'

/** For so long the other end may be silent: a large backup is checked as a whole before it is answered, ms. */
const SILENCE_MS = 600_000
/** What is no file is an answer in words. */
const MOST_WORDS = 1_048_576

/** A request whose body is a stream. */
export interface Transfer extends Omit<Outgoing, 'body'> {
  readonly body?: AsyncIterable<Uint8Array>
}

/** Sends a request whose body, or whose answer, is too large to hold. The caller reads the answer. Throws `unreachable`. */
export async function transfer(outgoing: Transfer): Promise<IncomingMessage> {
  const { url, method, headers, body, identity } = outgoing
  const { request: send, options } = await wayTo(url, identity)
  const request = send(url, {
    method,
    headers,
    agent: false,
    timeout: SILENCE_MS,
    ...options,
  })
  request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })))
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', (error) => reject(networkError(url, error)))
  })
  if (body === undefined) request.end()
  // A refusal comes before all is sent: it says why the rest was not wanted.
  else pipeline(body, request).catch(() => undefined)
  return await answered
}

/** The answer as words. Throws `bad_answer` when it is longer than any. */
export async function wordsOf(response: IncomingMessage): Promise<Incoming> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    const piece = chunk as Buffer // a response without an encoding gives Buffers
    length += piece.length
    if (length > MOST_WORDS) throw failure('bad_answer', 'the answer is larger than 1 MiB')
    chunks.push(piece)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}
