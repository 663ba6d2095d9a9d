import { isUtf8 } from 'node:buffer'
import { malformedJson } from '@steeple/contracts'

/** Cheap sign that a text may spell one of the names below, escapes included. */
const SUSPICIOUS = /__proto__|constructor|\\u/

/**
 * The value of a JSON text.
 *
 * Refuses what is not UTF-8, and any object that names `__proto__` or a `constructor` with a `prototype`: copied
 * into a plain object by anyone later, these would change every object. Throws `malformed_json`.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // V8's message quotes the text, which may hold a secret: only the position is passed on.
    const position = /at position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1]
    throw malformedJson(
      position === undefined ? 'it ends too early or is misspelt' : `see byte ${position}`,
      {
        cause: 'not JSON',
      },
    )
  }
  if (SUSPICIOUS.test(text)) refusePollution(value)
  return value
}

function refusePollution(root: unknown): void {
  // A stack of our own: a body may nest deeper than the call stack allows.
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) throw malformedJson('the property __proto__ is not accepted')
    const constructed = Object.getOwnPropertyDescriptor(value, 'constructor')?.value
    if (typeof constructed === 'object' && constructed !== null && Object.hasOwn(constructed, 'prototype')) {
      throw malformedJson('the property constructor.prototype is not accepted')
    }
    for (const member of Object.values(value)) pending.push(member)
  }
}
