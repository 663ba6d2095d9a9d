import { notReady, pluginIsolation } from '@steeple/contracts'
import type { Timers } from '../../timers.ts'
import type { Message } from './wire.ts'
import { errorFromWire, wireFromError } from './wire-error.ts'

/** A function that the other side may call. `signal` aborts when the caller's does, or when the channel closes. */
export type CallHandler = (args: readonly unknown[], signal: AbortSignal) => Promise<unknown>
/** Something that the other side may say without waiting for an answer. */
export type TellHandler = (args: readonly unknown[]) => void

/** What a peer is made of. `send` throws for what cannot be cloned. */
export interface PeerOptions {
  readonly send: (message: Message) => void
  readonly timers: Timers
  readonly calls: Readonly<Record<string, CallHandler>>
  readonly tells: Readonly<Record<string, TellHandler>>
}

/** One end of the channel. */
export interface Peer {
  /**
   * Calls the other side. An `AbortSignal` may be any one of the arguments; it arrives as a signal. Throws what the
   * other side threw, `plugin_isolation` for arguments that cannot cross, `not_ready` when it takes longer than
   * `boundMs` or when the channel closes.
   */
  call(method: string, args: readonly unknown[], boundMs?: number): Promise<unknown>
  /** Says something without waiting. Lost when the channel is closed. */
  tell(method: string, args: readonly unknown[]): void
  /** Gives a message of the other side to this one. */
  receive(message: Message): void
  /** The channel is closed: everything that waits fails with `reason`. */
  close(reason: string): void
}

/** Stands for the signal of a call among its arguments. */
const SIGNAL_MARK = '\u0000signal'
/** Bound on a call that names none: the reconciler's default bound, and a margin for it to end by itself. */
const CALL_BOUND_MS = 65_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Makes one end. */
export function createPeer({ send, timers, calls, tells }: PeerOptions): Peer {
  const waiting = new Map<number, Waiting>()
  const serving = new Map<number, AbortController>()
  let lastId = 0
  let closedReason: string | undefined

  const post = (message: Message): void => {
    try {
      send(message)
    } catch (cause) {
      throw pluginIsolation(`only plain data can cross between processes: ${messageOf(cause)}`, { cause })
    }
  }

  const serve = async (id: number, method: string, args: readonly unknown[]): Promise<void> => {
    const abort = new AbortController()
    serving.set(id, abort)
    let reply: Message
    try {
      const handler = Object.hasOwn(calls, method) ? calls[method] : undefined
      if (handler === undefined) throw pluginIsolation(`there is no call ${method}`)
      const given = args.map((arg) => (arg === SIGNAL_MARK ? abort.signal : arg))
      reply = { t: 'ok', id, value: await handler(given, abort.signal) }
    } catch (error) {
      reply = { t: 'fail', id, error: wireFromError(error) }
    }
    serving.delete(id)
    if (closedReason !== undefined) return
    try {
      post(reply)
    } catch (error) {
      post({ t: 'fail', id, error: wireFromError(error) })
    }
  }

  const call = async (
    method: string,
    args: readonly unknown[],
    boundMs = CALL_BOUND_MS,
  ): Promise<unknown> => {
    if (closedReason !== undefined) throw notReady(closedReason)
    const id = ++lastId
    const signal = args.find((arg) => arg instanceof AbortSignal)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const abort = (): void => {
      if (closedReason === undefined) post({ t: 'abort', id })
    }
    const timer = timers.setTimeout(() => {
      abort()
      reject(notReady(`the other process did not answer to ${method} within ${boundMs / 1000} s`))
    }, boundMs)
    waiting.set(id, { resolve, reject })
    try {
      post({
        t: 'call',
        id,
        method,
        args: args.map((arg) => (arg instanceof AbortSignal ? SIGNAL_MARK : arg)),
      })
      signal?.addEventListener('abort', abort, { once: true })
      if (signal?.aborted === true) abort()
      return await promise
    } finally {
      timers.clearTimeout(timer)
      waiting.delete(id)
      signal?.removeEventListener('abort', abort)
    }
  }

  return {
    call,
    tell: (method, args) => {
      if (closedReason === undefined) post({ t: 'tell', method, args })
    },
    receive: (message) => {
      switch (message.t) {
        case 'call':
          void serve(message.id, message.method, message.args)
          return
        case 'tell':
          if (Object.hasOwn(tells, message.method)) tells[message.method]?.(message.args)
          return
        case 'ok':
          waiting.get(message.id)?.resolve(message.value)
          return
        case 'fail':
          waiting.get(message.id)?.reject(errorFromWire(message.error))
          return
        case 'abort':
          serving.get(message.id)?.abort()
          return
        default:
          // The other side is a newer or older build of the same protocol; both are of one package.
          message satisfies never
      }
    },
    close: (reason) => {
      closedReason ??= reason
      for (const { reject } of waiting.values()) reject(notReady(reason))
      for (const abort of serving.values()) abort.abort()
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
