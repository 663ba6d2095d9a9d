import type { RawBody } from './api.ts'

/** A request as a transport gets it: what `fetch` takes. */
export interface TransportRequest {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: RawBody
  readonly duplex?: 'half'
  readonly signal: AbortSignal
  readonly redirect: 'error'
}

/** What is read of an answer. */
export interface TransportAnswer {
  readonly status: number
  readonly statusText: string
  readonly headers: { get(name: string): string | null }
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null
}

/** Brings a request to the service: `fetch`, or what does the same in another way. Rejects when there is no answer. */
export type Transport<Answer extends TransportAnswer = Response> = (
  url: string,
  request: TransportRequest,
) => Promise<Answer>

/** How a client is made. */
export interface ClientOptions<Answer extends TransportAnswer = Response> {
  /** Where the service is, with the path prefix of a proxy if there is one. In a page of its own origin `''`. */
  readonly url: string
  /**
   * The bearer token, or what gives it. It is asked before each try; after a 401 once more with the token that was refused, and
   * the request is sent again when it gives another. Undefined: none is sent.
   */
  readonly token?: string | ((refused: string | undefined) => Token | Promise<Token>)
  /** Tries after the first one, where they are safe: 3. */
  readonly retries?: number
  /** Ms of the wait before the second try, doubled before each further one and drawn between its half and its whole: 250. */
  readonly backOffMs?: number
  /** A server that asks for a longer wait than this is not asked again: 30,000. */
  readonly longestWaitMs?: number
  /** Ms that one try may take until the head of its answer: 30,000. */
  readonly timeoutMs?: number
  /** Ms without anything from an event stream, which says something every 15 s, after which it is opened anew: 45,000. */
  readonly silenceMs?: number
  /** The `fetch` to use, or another transport: with client certificates for instance. */
  readonly fetch?: Transport<Answer>
}

/** A bearer token, if there is one. */
export type Token = string | undefined

/** The same with nothing left open. */
export interface Settings extends Required<Omit<ClientOptions<TransportAnswer>, 'token'>> {
  readonly token: (refused: string | undefined) => Token | Promise<Token>
}

const RETRIES = 3
const BACK_OFF_MS = 250
const LONGEST_WAIT_MS = 30_000
const TIMEOUT_MS = 30_000
/** Three of the service's signs of life. */
const SILENCE_MS = 45_000

/** The options with what they leave open. */
export function settingsFrom(options: ClientOptions<TransportAnswer>): Settings {
  const { token } = options
  return {
    retries: RETRIES,
    backOffMs: BACK_OFF_MS,
    longestWaitMs: LONGEST_WAIT_MS,
    timeoutMs: TIMEOUT_MS,
    silenceMs: SILENCE_MS,
    // Called bare: a browser's refuses to be a method of something else.
    fetch: (input, init) => fetch(input, init),
    ...options,
    url: options.url.replace(/\/+$/, ''),
    token: typeof token === 'function' ? token : () => token,
  }
}
