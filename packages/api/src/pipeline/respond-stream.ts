import type { Reply } from '@steeple/contracts'
import type { RequestContext } from './request-context.ts'
import { writeHead } from './write-head.ts'

type Chunk = string | Uint8Array

/**
 * Sends an answer in pieces, as fast as the client reads and no faster: what is not yet read stays with the producer.
 *
 * Nothing is written before the first piece is there, so that a producer that fails at once is answered with an
 * error. A producer that fails later breaks the connection: a client must not take half a list for all of it.
 */
export async function sendStream(
  context: RequestContext,
  reply: Reply,
  stream: AsyncIterable<Chunk>,
): Promise<void> {
  const { outgoing, incoming } = context
  if (incoming.method === 'HEAD') {
    writeHead(context, reply.status ?? 200, reply.headers, {})
    outgoing.end()
    return
  }
  context.isStreaming = true
  context.generation?.review()
  const pieces = stream[Symbol.asyncIterator]()
  try {
    let piece = await pieces.next()
    if (context.isOver || outgoing.destroyed || outgoing.headersSent) return
    writeHead(context, reply.status ?? 200, reply.headers, {})
    while (piece.done !== true && !isGone(context)) {
      if (!outgoing.write(piece.value)) await readOn(context)
      if (!isGone(context)) piece = await pieces.next()
    }
    outgoing.end()
  } finally {
    await pieces.return?.()
  }
}

function isGone({ isOver, outgoing }: RequestContext): boolean {
  return isOver || outgoing.destroyed
}

/** Waits until the client has read on or left; gives up on one that does neither. */
function readOn(context: RequestContext): Promise<void> {
  const { outgoing, core } = context
  const { promise, resolve } = Promise.withResolvers<void>()
  const stalled = setTimeout(() => outgoing.destroy(), core.limits.streamStallMs)
  const over = (): void => {
    clearTimeout(stalled)
    outgoing.off('drain', over).off('close', over)
    resolve()
  }
  outgoing.once('drain', over).once('close', over)
  context.onOver(over)
  return promise
}
