import { createHash } from 'node:crypto'
import { cleanText, LEFT_OUT, type Scrub } from './clean-text.ts'

/** Facts whose texts are the service's own words. Others may hold what somebody has typed. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...['level', 'time', 'msg', 'plugin', 'component', 'resource', 'code', 'route', 'method', 'result'],
  ...[
    'state',
    'status',
    'step',
    'service',
    'table',
    'driver',
    'dialect',
    'version',
    'signal',
    'kind',
    'type',
  ],
  ...['from', 'to', 'mode', 'metric', 'reconcileId', 'severity', 'capability', 'daemon'],
])
/** Facts that tell why something went wrong, in words. */
const REASONS: ReadonlySet<string> = new Set([
  'reason',
  'detail',
  'error',
  'why',
  'warning',
  'remedy',
  'last',
])
/** How the code calls facts, and types and codes of errors. */
const OWN_NAME = /^[A-Za-z]\w{0,39}$/
/** Larger ones may be somebody's number. A time in ms has 13 digits. */
const LARGEST_NUMBER = 1e9
const OWN_REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * A line of the log for somebody outside: numbers, truth values, facts that are the service's own words, reasons, and of
 * errors type, code, message and where they came from. The rest of it is `[left out]`.
 */
export function publicLogLine(line: string, scrub: Scrub): string {
  const facts = parsed(line)
  if (facts === undefined) return JSON.stringify({ msg: LEFT_OUT })
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [
        OWN_NAME.test(name) ? name : LEFT_OUT,
        shown(name, value, scrub),
      ]),
    ),
  )
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    // It was too long, and lost its end.
    return undefined
  }
}

function shown(name: string, value: unknown, scrub: Scrub): unknown {
  if (typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Math.abs(value) < LARGEST_NUMBER ? value : LEFT_OUT
  if (name === 'err') return shownError(value, scrub, 0)
  if (Array.isArray(value)) return `${value.length} items ${LEFT_OUT}`
  if (typeof value !== 'string') return LEFT_OUT
  if (name === 'request_id') return OWN_REQUEST_ID.test(value) ? value : digestOf(value)
  // Who it was is nobody's business; what kind of caller it was may matter.
  if (name === 'principal') return value.split(':')[0]
  return OWN_WORDS.has(name) || REASONS.has(name) ? cleanText(value, scrub) : LEFT_OUT
}

/** An id that a client chose: the same one for all of its lines. */
function digestOf(id: string): string {
  return `given-${createHash('sha256').update(id).digest('hex').slice(0, 8)}`
}

const DEEPEST_CAUSE = 4

function shownError(value: unknown, scrub: Scrub, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return LEFT_OUT
  const { type, code, message, stack, cause } = value as Readonly<Record<string, unknown>> // any may be absent
  const text = (one: unknown): string | undefined =>
    typeof one === 'string' || typeof one === 'number' ? cleanText(String(one), scrub) : undefined
  const word = (one: unknown): string | undefined =>
    one === undefined ? undefined : OWN_NAME.test(String(one)) ? text(one) : LEFT_OUT
  return {
    type: word(type),
    code: word(code),
    message: text(message),
    at: typeof stack === 'string' ? framesOf(stack) : undefined,
    cause: cause === undefined || depth === DEEPEST_CAUSE ? undefined : shownError(cause, scrub, depth + 1),
  }
}

/** Function, file and line, without folders: these may be somebody's home. */
function framesOf(stack: string): readonly string[] {
  const frames = stack.matchAll(
    /^\s+at (?:(?:async )?([\w.#<>[\] ]{1,100}) \()?[^\n)]*?([\w.-]+:\d+:\d+)\)?$/gm,
  )
  return [...frames]
    .slice(0, 20)
    .map(([, name, place]) => (name === undefined ? `${place}` : `${name} ${place}`))
}
