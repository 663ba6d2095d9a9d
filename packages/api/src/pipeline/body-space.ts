import { requestTimeout } from '@steeple/contracts'
import type { RequestContext } from './request-context.ts'

/** The client left before its request was answered. Nobody is there to be told. */
export class ClientLeft extends Error {}

/** Bodies up to this size need no place of their own: requests under way are counted already. */
export const SMALL_BYTES = 65_536

/** How many bytes of bodies are held in memory at a time. One that is larger than that is held alone. */
export interface BodyLimits {
  /** Of one principal. */
  readonly each: number
  readonly inAll: number
}

interface Waiting {
  readonly context: RequestContext
  readonly bytes: number
  readonly begin: () => void
}

/**
 * Room for the bodies that are held whole. Of a body without room nothing is read: it stays with its sender.
 *
 * Whoever sends bodies and does not finish them uses up their own room, for as long as a body may take.
 */
export class BodySpace {
  readonly #limits: BodyLimits
  readonly #held = new Map<string, number>()
  #inAll = 0
  #waiting: Waiting[] = []

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /**
   * Takes room until the request is over: at once (undefined), or when the promise resolves.
   * Rejects with `request_timeout` when there is none within `waitMs`, `ClientLeft` when the client leaves first.
   */
  take(context: RequestContext, bytes: number, waitMs: number): Promise<void> | undefined {
    if (bytes <= SMALL_BYTES) return undefined
    context.onOver(() => this.#give(context))
    if (!this.#isBehind() && this.#hasRoom(context, bytes)) {
      this.#hold(context, bytes)
      return undefined
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const late = setTimeout(() => {
      this.#forget(context)
      reject(requestTimeout(waitMs))
    }, waitMs)
    const begin = (): void => {
      clearTimeout(late)
      this.#hold(context, bytes)
      resolve()
    }
    context.onOver(() => {
      clearTimeout(late)
      reject(new ClientLeft('the client left'))
    })
    this.#waiting.push({ context, bytes, begin })
    return promise
  }

  #hold(context: RequestContext, bytes: number): void {
    context.bodyRoom = bytes
    this.#inAll += bytes
    const owner = context.principal.id
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + bytes)
  }

  #give(context: RequestContext): void {
    this.#forget(context)
    const { bodyRoom } = context
    if (bodyRoom === 0) return
    context.bodyRoom = 0
    this.#inAll -= bodyRoom
    const owner = context.principal.id
    const left = (this.#held.get(owner) ?? 0) - bodyRoom
    if (left > 0) this.#held.set(owner, left)
    else this.#held.delete(owner)
    for (const next of [...this.#waiting]) {
      if (!this.#hasRoom(next.context, next.bytes)) continue
      this.#forget(next.context)
      next.begin()
    }
  }

  #forget(context: RequestContext): void {
    this.#waiting = this.#waiting.filter((one) => one.context !== context)
  }

  /** Whether somebody waits for the room of all. Who has used up their own keeps nobody waiting. */
  #isBehind(): boolean {
    return this.#waiting.some(({ context, bytes }) => this.#hasOwnRoom(context, bytes))
  }

  #hasRoom(context: RequestContext, bytes: number): boolean {
    const { inAll } = this.#limits
    return this.#hasOwnRoom(context, bytes) && (this.#inAll === 0 || this.#inAll + bytes <= inAll)
  }

  #hasOwnRoom({ principal }: RequestContext, bytes: number): boolean {
    const own = this.#held.get(principal.id) ?? 0
    return own === 0 || own + bytes <= this.#limits.each
  }
}
