import { hash } from 'node:crypto'
import type { ChargingRun } from '@steeple/southbound'

/**
 * Which sessions the CHF knows, by digests of their references: it forgets them all when it ends, and counts none that began
 * while it was away.
 */
export interface Charged {
  /** The run that was there last; undefined before the first. */
  readonly run: string | undefined
  /** Sessions that began in that run. */
  readonly known: ReadonlySet<string>
  /** Sessions that it does not know. */
  readonly lost: ReadonlySet<string>
}

/** Nobody was listed yet. */
export const NO_SESSIONS: Charged = { run: undefined, known: new Set(), lost: new Set() }

/** What is kept of a reference: 48 bits tell the sessions of one core apart. */
export function sessionDigest(ref: string): string {
  return hash('sha256', ref, 'base64url').slice(0, 8)
}

/**
 * What is known once the sessions with these digests are listed and the CHF runs so. `before` itself when nothing is new.
 *
 * A session that comes between two looks between which the CHF has started may have begun before it did: it counts as lost.
 */
export function chargedNow(
  before: Charged,
  listed: ReadonlySet<string>,
  { run, isOlderThanSessions }: ChargingRun,
): Charged {
  const isFirst = before.run === undefined
  const isSame = run === undefined || run === before.run
  const isCharging = (digest: string): boolean => {
    if (run !== undefined && isOlderThanSessions) return true
    if (before.lost.has(digest)) return false
    if (before.known.has(digest)) return isSame
    return run !== undefined && (isSame || isFirst)
  }
  const [known, lost] = [new Set<string>(), new Set<string>()]
  for (const digest of listed) (isCharging(digest) ? known : lost).add(digest)
  const isOther =
    (run ?? before.run) !== before.run || !isEqual(known, before.known) || !isEqual(lost, before.lost)
  return isOther ? { run: run ?? before.run, known, lost } : before
}

function isEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each))
}

/** As a text without blanks and line breaks. */
export function chargedText({ run, known, lost }: Charged): string {
  return run === undefined && lost.size === 0
    ? ''
    : encodeURI(JSON.stringify([run ?? null, [...known], [...lost]]))
}

/** What `chargedText` has written; nothing known for anything else. */
export function chargedFrom(text: string | undefined): Charged {
  if (text === undefined || text === '') return NO_SESSIONS
  try {
    // Written by chargedText, kept by who counts.
    const [run, known, lost] = JSON.parse(decodeURI(text)) as [string | null, string[], string[]]
    return { run: run ?? undefined, known: new Set(known), lost: new Set(lost) }
  } catch {
    return NO_SESSIONS
  }
}
