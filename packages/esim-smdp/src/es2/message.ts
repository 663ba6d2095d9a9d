import { Es2Refused } from './refusal.ts'

/** A request of ES2+, its header checked. SGP.22 §6.5.1.3. */
export interface Es2Message {
  readonly requester: string
  readonly call: string
  /** Its members in a form that does not depend on their order: what the call is recognised by. */
  readonly canonical: string
  /** A text of that form, undefined when there is none. Throws `Es2Refused` (`format`) for anything else. */
  text(name: string, pattern: RegExp): string | undefined
  /** Throws `Es2Refused` (`format`) when it is no boolean; undefined when there is none. */
  flag(name: string): boolean | undefined
}

/** Octets; a request has some hundred. */
export const MOST_BODY_OCTETS = 16_384
const MOST_IDENTIFIER = 128

/** Reads a request. Throws `Es2Refused`. */
export function readMessage(octets: Uint8Array): Es2Message {
  const body = objectIn(octets)
  const header = memberOf(body, 'header')
  const named = typeof header === 'object' && header !== null ? header : {}
  const requester = identifier(memberOf(named, 'functionRequesterIdentifier'))
  if (requester === undefined) throw new Es2Refused('requester_missing')
  const call = identifier(memberOf(named, 'functionCallIdentifier'))
  if (call === undefined) throw new Es2Refused('call_missing')
  return {
    requester,
    call,
    canonical: canonical(body),
    text: (name, pattern) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'string' || !pattern.test(value))
        throw new Es2Refused('format', { detail: `(${name})` })
      return value
    },
    flag: (name) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'boolean') throw new Es2Refused('format', { detail: `(${name})` })
      return value
    },
  }
}

function objectIn(octets: Uint8Array): object {
  if (octets.length > MOST_BODY_OCTETS) throw new Es2Refused('format')
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(octets))
  } catch (cause) {
    throw new Es2Refused('format', { detail: '(no JSON)', cause })
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Es2Refused('format', { detail: '(no JSON object)' })
  return parsed
}

function memberOf(from: object, name: string): unknown {
  return Object.hasOwn(from, name) ? Reflect.get(from, name) : undefined
}

/** Printable ASCII: it goes into the audit trail. */
function identifier(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MOST_IDENTIFIER) return undefined
  return /^[\x20-\x7e]+$/.test(value) ? value : undefined
}

/** Members by name; no function has one that is more than a text or a flag. */
function canonical(body: object): string {
  const members = Object.entries(body)
    .filter(([name]) => name !== 'header')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, value] of members)
    if (typeof value === 'object' && value !== null)
      throw new Es2Refused('format', { detail: `(${shown(name)})` })
  return JSON.stringify(members)
}

function shown(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 32)
}
