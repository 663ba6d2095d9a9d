import type { ServerResponse } from 'node:http'
import { atTurnEnd } from '@steeple/contracts'

/** More are not held back: the first of them has waited for the work of the others. */
const MOST_HELD = 64
/** Larger ones take long to send: that is done within the time of the turn that made them, which is bounded. */
const MOST_BYTES = 8_192

/** Ends an answer whose head is set, together with the others that become ready in the same turn of the event loop. */
export type SendTogether = (
  outgoing: ServerResponse,
  payload: string | Uint8Array | undefined,
  encoding: BufferEncoding,
) => void

/**
 * Holds small answers until the turn of the event loop ends.
 *
 * One after the other they find the reader awake and the code of the socket warm. Written in between the requests, each
 * wakes the reader anew, which costs more than all of the rest of a small answer.
 */
export function createSendTogether(): SendTogether {
  let held: Parameters<SendTogether>[] = []
  const sendHeld = (): void => {
    const ready = held
    held = []
    for (const answer of ready) end(...answer)
  }
  return (...answer) => {
    if ((answer[1]?.length ?? 0) > MOST_BYTES) {
      end(...answer)
      return
    }
    if (held.length === 0) atTurnEnd(sendHeld)
    held.push(answer)
    if (held.length >= MOST_HELD) sendHeld()
  }
}

const end: SendTogether = (outgoing, payload, encoding) => {
  if (payload === undefined) outgoing.end()
  else if (typeof payload === 'string') outgoing.end(payload, encoding)
  else outgoing.end(payload)
}
