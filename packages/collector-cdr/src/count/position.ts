import { type ImsiHash, southboundUnavailable } from '@steeple/contracts'
import { parseImsiHash } from '@steeple/telecom'
import { type Charged, chargedFrom, chargedText, NO_SESSIONS } from './charged.ts'

/** What a position says: which reports of every subscriber have been counted. */
export interface Position {
  /** When the directory was looked at last before it was written, ms since the epoch; 0: never. */
  readonly lookedMs: number
  /** What is known of each subscriber, see `lineFrom`. */
  readonly lines: Map<ImsiHash, string>
  /** Which sessions the CHF knows. */
  readonly charged: Charged
}

const FORMAT = 'cdr1'
/** Lines taken in one turn of the event loop. */
const TOGETHER = 2_000

/** A position as a text: a line of its own, and one for each subscriber. */
export function textFrom({ lookedMs, lines, charged }: Position): string {
  const parts = [`${FORMAT} ${lookedMs} ${chargedText(charged)}`.trimEnd()]
  for (const [imsi, line] of lines) parts.push(`${imsi} ${line}`)
  return parts.join('\n')
}

/** What `textFrom` has written. Throws `southbound_unavailable` for anything else: to begin anew would count all again. */
export async function positionFrom(text: string | undefined): Promise<Position> {
  const lines = new Map<ImsiHash, string>()
  if (text === undefined) return { lookedMs: 0, lines, charged: NO_SESSIONS }
  let at = text.indexOf('\n')
  const [format, looked, sessions] = (at < 0 ? text : text.slice(0, at)).split(' ')
  const lookedMs = Number(looked)
  if (format !== FORMAT || !Number.isFinite(lookedMs)) throw unreadable()
  while (at >= 0) {
    const end = text.indexOf('\n', at + 1)
    const line = text.slice(at + 1, end < 0 ? undefined : end)
    const imsi = parseImsiHash(line.slice(0, HASH_LENGTH))
    if (imsi === undefined) throw unreadable()
    lines.set(imsi, line.slice(HASH_LENGTH + 1))
    at = end
    if (lines.size % TOGETHER === 0) await new Promise(setImmediate)
  }
  return { lookedMs, lines, charged: chargedFrom(sessions) }
}

const HASH_LENGTH = 12

function unreadable(): Error {
  return southboundUnavailable(
    'what is kept of the charging records that were counted was written by another release of this service; ' +
      'go back to that release, or delete the position of the source cdr and accept that what the CHF still shows counts again',
  )
}
