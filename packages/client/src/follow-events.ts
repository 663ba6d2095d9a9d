import type { Settings } from './client-options.ts'
import { attempt, piecesOf } from './exchange.ts'
import { dataOf, withoutAnswer } from './problem.ts'
import type { Problem } from './types.ts'
import { backOff, type Leash, leashOf, wait } from './wait.ts'

/** One frame of an event stream that carries data. */
interface Frame {
  readonly type: string
  readonly data: string
}

/** What has been read of a stream. Source: WHATWG HTML §9.2.6, interpretation of an event stream. */
interface FrameReader {
  /** The frames that a further piece of text completes. Throws when a frame grows beyond all bounds. */
  take(text: string): readonly Frame[]
  /** The last id that was sent, of frames without data too; undefined before the first. */
  readonly lastId: () => string | undefined
  /** Ms that the server asks to wait before the stream is opened anew. */
  readonly retryMs: () => number | undefined
}

/** The service's frames have at most some kB. */
const LONGEST_FRAME = 4_194_304

/** Reads one connection from its beginning. */
export function frameReader(): FrameReader {
  let rest = ''
  let type = ''
  let data: string[] = []
  let id: string | undefined
  let lastId: string | undefined
  let retryMs: number | undefined

  const field = (name: string, value: string): void => {
    if (name === 'event') type = value
    else if (name === 'data') data.push(value)
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
  }
  const complete = (): Frame | undefined => {
    const frame =
      data.length === 0 ? undefined : { type: type === '' ? 'message' : type, data: data.join('\n') }
    lastId = id ?? lastId
    type = ''
    data = []
    return frame
  }
  const line = (text: string): Frame | undefined => {
    if (text === '') return complete()
    const colon = text.indexOf(':')
    if (colon === -1) field(text, '')
    else if (colon > 0) field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ''))
    return undefined
  }
  return {
    take: (text) => {
      rest += text
      if (rest.length > LONGEST_FRAME) throw new Error('a line of the event stream does not end')
      // A CR at the end may be the first half of a CRLF.
      const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
      const lines = rest.slice(0, end).split(/\r\n|\r|\n/)
      rest = (lines.pop() ?? '') + rest.slice(end)
      return lines.flatMap((one) => line(one) ?? [])
    },
    lastId: () => lastId,
    retryMs: () => retryMs,
  }
}

/** Something has changed. */
export interface Change {
  readonly kind: 'change'
  readonly id: number
  /** RFC 3339, UTC. */
  readonly at: string
  /** `sim.issue` for instance; more may come. */
  readonly type: string
  readonly subject: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** Changes behind `after`, up to and with `until`, are not kept any more: read the state afresh. */
export interface Gap {
  readonly kind: 'gap'
  readonly id: number
  readonly after: number
  readonly until: number
}

/** Where the stream is: open, or to be opened anew in so many ms because of an error. */
export type StreamState =
  | { readonly state: 'open' }
  | { readonly state: 'waiting'; readonly waitMs: number; readonly error: Problem }

/** How events are followed. */
export interface FollowOptions {
  /** Goes on behind this one; from now on when absent. */
  readonly lastEventId?: number | string
  /** Ends the iteration; without it breaking out of the loop does, at the next event. */
  readonly signal?: AbortSignal
  /** Is told when the connection opens and when it is lost. */
  onState?(state: StreamState): void
}

/** The service's own `retry`, until it has said it. */
const FIRST_RETRY_MS = 2_000
/** What no waiting changes. */
const FINAL: readonly number[] = [400, 401, 403, 404]

/** What one connection has seen. */
interface Position {
  lastId: string | undefined
  retryMs: number
  /** Connections in a row that brought nothing. */
  vain: number
}

/**
 * What changes at the service, each change once and in order, over as many connections as it takes. A connection that is lost or silent
 * is opened anew where it ended. Ends when the signal is aborted; throws, as `dataOf`, when the service refuses for good.
 */
export async function* followEvents(
  settings: Settings,
  { lastEventId, signal, onState }: FollowOptions = {},
): AsyncGenerator<Change | Gap, void, undefined> {
  const position: Position = {
    lastId: lastEventId === undefined ? undefined : String(lastEventId),
    retryMs: FIRST_RETRY_MS,
    vain: 0,
  }
  const isOver = (): boolean => signal?.aborted === true
  while (!isOver()) {
    const leash = leashOf(signal)
    let error: Problem
    try {
      error = yield* connection(settings, position, leash, () => onState?.({ state: 'open' }))
    } finally {
      leash.cut()
      leash.release()
    }
    if (isOver()) return
    if (FINAL.includes(error.status)) dataOf({ ok: false, error })
    const waitMs = Math.max(
      backOff(position.retryMs, position.vain, settings.longestWaitMs),
      (error.retryAfterS ?? 0) * 1_000,
    )
    position.vain += 1
    onState?.({ state: 'waiting', waitMs, error })
    await wait(waitMs, signal).catch(() => undefined)
  }
}

/** One connection, to its end; gives why it ended. */
async function* connection(
  settings: Settings,
  position: Position,
  leash: Leash,
  onOpen: () => void,
): AsyncGenerator<Change | Gap, Problem, undefined> {
  const opened = await open(settings, position, leash).catch(() => undefined)
  if (opened === undefined) return lost('it was aborted')
  if (!opened.ok) return opened.error
  onOpen()
  const reader = frameReader()
  const decoder = new TextDecoder()
  try {
    for await (const piece of piecesOf(opened.data.body, leash, settings.silenceMs)) {
      position.vain = 0
      for (const frame of reader.take(decoder.decode(piece, { stream: true }))) {
        const event = eventFrom(frame)
        if (event === undefined) continue
        position.lastId = String(event.id)
        yield event
      }
      position.lastId = reader.lastId() ?? position.lastId
      position.retryMs = reader.retryMs() ?? position.retryMs
    }
    return lost('the service has ended the stream')
  } catch (cause) {
    return lost(leash.hasPassed() ? 'nothing came any more' : String(cause))
  }
}

/** Opens the stream; a token that is refused is asked for once more. */
async function open(settings: Settings, { lastId }: Position, leash: Leash) {
  const exchange = {
    method: 'GET',
    target: '/v1/events',
    headers: { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
    body: undefined,
    timeoutMs: settings.timeoutMs,
    signal: leash.signal,
    isOpen: true,
    read: async (response: Response) => response,
  }
  const token = await settings.token(undefined)
  const first = await attempt(settings, exchange, token)
  if (first.ok || first.error.status !== 401) return first
  const next = await settings.token(token)
  return next === token ? first : await attempt(settings, exchange, next)
}

function lost(message: string): Problem {
  return withoutAnswer('connection_lost', message).error
}

/** Undefined for what is no event of the service. */
function eventFrom({ type, data }: Frame): Change | Gap | undefined {
  const told = JSON.parse(data) as Omit<Change, 'kind'> & Omit<Gap, 'kind' | 'id'>
  if (type === 'gap') return { kind: 'gap', id: told.until, after: told.after, until: told.until }
  if (typeof told.id !== 'number') return undefined
  const { id, at, subject } = told
  return { kind: 'change', id, at, type: told.type, subject, data: told.data }
}
