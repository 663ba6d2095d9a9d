import type { Socket } from 'node:net'
import type { Exchange } from '../pipeline/exchange.ts'

/** The requests of one connection, whose answers go out in the order in which they came (RFC 9112 §9.3.2). */
export class Line {
  /** One of its answers closes the connection: what comes behind is not begun. */
  isEnding = false
  #open = 0
  #newest: Exchange | undefined
  #afterwards: (() => void) | undefined

  /** A request has come. */
  enter(exchange: Exchange): void {
    this.#open += 1
    this.#newest = exchange
  }

  /** Its answer is out, or nobody wants it any more. */
  leave(exchange: Exchange): void {
    this.#open -= 1
    if (this.#newest === exchange) this.#newest = undefined
    if (this.#ahead === 0) this.#afterwards?.()
  }

  /** Whether no request has come after this one. */
  endsWith(exchange: Exchange): boolean {
    return this.#newest === exchange
  }

  /** Does the work once everything that came whole is answered: now, if that is so. The first work alone is done. */
  afterAnswers(work: () => void): void {
    if (this.#afterwards !== undefined) return
    this.#afterwards = work
    if (this.#ahead === 0) work()
  }

  /** Requests that came whole and are not answered. */
  get #ahead(): number {
    return this.#open - (this.#newest?.incoming.complete === false ? 1 : 0)
  }
}

/** The lines of connections, forgotten with them. */
export function createLines(): (socket: Socket) => Line {
  const lines = new WeakMap<Socket, Line>()
  return (socket) => {
    const known = lines.get(socket)
    if (known !== undefined) return known
    const line = new Line()
    lines.set(socket, line)
    return line
  }
}
