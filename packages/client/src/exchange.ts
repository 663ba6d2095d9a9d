import type { RawBody } from './api.ts'
import type { Settings, TransportAnswer } from './client-options.ts'
import { problemFrom, withoutAnswer } from './problem.ts'
import type { Failure, Result, Success } from './types.ts'
import { type Leash, leashOf } from './wait.ts'

/** A request as it goes out, and what is made of its answer. */
export interface Exchange<Data> {
  readonly method: string
  /** With the query, without the address of the service. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RawBody | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  /** The body is read when this is over: the signal ends that too. */
  readonly isOpen: boolean
  /** Reads an answer below 300. It tells the leash of each sign of life. */
  read(response: TransportAnswer, leash: Leash): Promise<Data>
}

/** A first status that is no success. */
const NO_SUCCESS = 300
const NOT_MODIFIED = 304

/** One try. Rejects when the caller's signal is aborted, and for nothing else. */
export async function attempt<Data>(
  { url, fetch: send }: Settings,
  exchange: Exchange<Data>,
  token: string | undefined,
): Promise<Result<Data>> {
  const { method, target, headers, body, timeoutMs, signal } = exchange
  const leash = leashOf(signal)
  leash.within(timeoutMs)
  let status = 0
  try {
    const response = await send(url + target, {
      method,
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { body }),
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
      signal: leash.signal,
      // A change that is sent on as a GET has not been made.
      redirect: 'error',
    })
    status = response.status
    if (status === NOT_MODIFIED) return withoutAnswer('not_modified', 'it still holds', NOT_MODIFIED)
    if (status >= NO_SUCCESS)
      return { ok: false, error: problemFrom(response, await textOf(response, leash, timeoutMs)) }
    return successOf(response, await exchange.read(response, leash))
  } catch (cause) {
    signal?.throwIfAborted()
    return failureFrom(cause, leash, timeoutMs, status)
  } finally {
    if (exchange.isOpen) leash.atEase()
    else leash.release()
  }
}

/** The body as text; each piece must come within the time. */
export async function textOf(response: TransportAnswer, leash: Leash, timeoutMs: number): Promise<string> {
  return await (await blobOf(response, leash, timeoutMs)).text()
}

/** The body as a Blob; each piece must come within the time. */
export async function blobOf(response: TransportAnswer, leash: Leash, timeoutMs: number): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of piecesOf(response.body, leash, timeoutMs)) pieces.push(piece)
  return new Blob(pieces, { type: response.headers.get('content-type') ?? '' })
}

/** The pieces of a body, of which each must come within the time once it is asked for. */
export async function* piecesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  leash: Leash,
  timeoutMs: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (body === null) return
  const reader = body.getReader()
  for (;;) {
    leash.within(timeoutMs)
    const { done, value } = await reader.read()
    leash.atEase()
    if (done) return
    yield value
  }
}

function successOf<Data>({ status, headers }: TransportAnswer, data: Data): Success<Data> {
  return {
    ok: true,
    data,
    status,
    etag: headers.get('etag') ?? undefined,
    requestId: headers.get('x-request-id') ?? undefined,
    isReplayed: headers.get('idempotency-replayed') === 'true',
    headers,
  }
}

function failureFrom(cause: unknown, leash: Leash, timeoutMs: number, status: number): Failure {
  if (leash.hasPassed())
    return withoutAnswer('no_answer_in_time', `nothing came within ${timeoutMs} ms`, status, cause)
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const why = inner instanceof Error ? inner.message : String(inner)
  return withoutAnswer('connection_lost', `no whole answer: ${why}`, status, cause)
}
