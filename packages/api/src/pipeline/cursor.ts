import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { invalidCursor } from '@steeple/contracts'

/** Octets of the tag; 128 bits are plenty for something that opens no door. */
const TAG_BYTES = 16
/** Longest cursor that is looked at. */
const MAX_CURSOR_CHARS = 1_024

type Position = readonly (string | number)[]

/** Makes and reads the opaque cursors of list routes. */
export interface Cursors {
  /** The cursor of a position in the list that `scope` names (route and filters). */
  seal(scope: string, position: Position): string
  /** The position of a cursor of the same list. Throws `invalid_cursor`. */
  open(scope: string, cursor: string): Position
}

/** Cursors under a key derived from 32 secret bytes: base64url of tag and JSON, so that nobody can make one up. */
export function createCursors(secret: Uint8Array): Cursors {
  const key: KeyObject = createSecretKey(
    Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), 'steeple cursor v1', 32)),
  )
  const tag = (scope: string, json: string): Buffer =>
    createHmac('sha256', key).update(scope).update('\0').update(json).digest().subarray(0, TAG_BYTES)
  return {
    seal: (scope, position) => {
      const json = JSON.stringify(position)
      return Buffer.concat([tag(scope, json), Buffer.from(json)]).toString('base64url')
    },
    open: (scope, cursor) => {
      if (cursor.length > MAX_CURSOR_CHARS) throw invalidCursor()
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= TAG_BYTES) throw invalidCursor()
      const json = bytes.toString('utf8', TAG_BYTES)
      if (!timingSafeEqual(tag(scope, json), bytes.subarray(0, TAG_BYTES))) throw invalidCursor()
      // The tag proves that `seal` wrote it.
      return JSON.parse(json) as Position
    },
  }
}
