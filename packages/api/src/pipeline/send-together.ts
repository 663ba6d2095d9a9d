import type { ServerResponse } from 'node:http'

/** More are not held back: the first of them has waited for the work of the others. */
const MOST_HELD = 64

/** An answer whose head is set and whose payload goes out at the end of this turn of the event loop. */
interface Held {
  readonly outgoing: ServerResponse
  readonly payload: string | Uint8Array | undefined
  readonly encoding: BufferEncoding
}

let held: Held[] = []

/**
 * Ends an answer together with the others that become ready in the same turn of the event loop.
 *
 * One after the other they find the reader awake and the code of the socket warm. Written in between the requests, each
 * wakes the reader anew, which costs more than all of the rest of a small answer.
 */
export function sendTogether(
  outgoing: ServerResponse,
  payload: string | Uint8Array | undefined,
  encoding: BufferEncoding,
): void {
  if (held.length === 0) setImmediate(sendHeld)
  held.push({ outgoing, payload, encoding })
  if (held.length >= MOST_HELD) sendHeld()
}

function sendHeld(): void {
  const ready = held
  held = []
  for (const { outgoing, payload, encoding } of ready) {
    if (payload === undefined) outgoing.end()
    else if (typeof payload === 'string') outgoing.end(payload, encoding)
    else outgoing.end(payload)
  }
}
