import type { SessionSighting } from '@steeple/contracts'
import type { Known } from './known.ts'
import { isOpen, type Link, type Session } from './session.ts'

/** What a source that works times out differs by from one look to the next, ms. */
const START_JITTER_MS = 5_000
/** A source that lists a session again after so long, and does not say when it began, speaks of another one, ms. */
const BACK_WITHIN_MS = 10 * 60_000
/** Ends of one session as two sources see them lie within, ms. */
const ENDS_WITHIN_MS = 2 * 60_000

/** Whether a reference still means the session that it meant. A core that has restarted may use it for another one. */
export function isSame(link: Link, sighting: SessionSighting, nowMs: number): boolean {
  const { session } = link
  if (session.imsi !== sighting.imsi || session.apn !== sighting.apn) return false
  if (!isCompatible(session, sighting)) return false
  if (!isSameStart(link.startedAtMs, sighting.startedAtMs)) return false
  const isBack = !link.isLive && sighting.state !== 'ended'
  if (!isBack || isOpen(session)) return true
  if (beganAfter(session, link, sighting)) return false
  const isKnownStart = link.startedAtMs !== undefined && sighting.startedAtMs !== undefined
  return isKnownStart || nowMs - (session.endedAtMs ?? nowMs) <= BACK_WITHIN_MS
}

/**
 * The session that a reference is new for: of the same subscriber and APN, with the same address, and of another source.
 * A source that gives a session a new reference speaks of another session, unless the phone went from LTE to NR or back
 * and the source has dropped the old one in the same round.
 */
export function candidateFor(
  known: Known,
  source: string,
  sighting: SessionSighting,
  round: number,
): Session | undefined {
  const found = known
    .ofSubscriber(sighting.imsi, sighting.apn)
    .filter((session) => isCompatible(session, sighting) && isStanding(session, sighting))
    .filter((session) =>
      [...session.links].every((link) => link.source !== source || isHandover(link, sighting, round)),
    )
  return found.findLast((session) => isAddressOf(session, sighting)) ?? found.at(-1)
}

/** Whether the session has every address that a sighting names. */
export function isAddressOf(session: Session, { address, prefix }: SessionSighting): boolean {
  return (
    (address === undefined || session.address === address) &&
    (prefix === undefined || session.prefix === prefix)
  )
}

/** No address of one contradicts one of the other. */
function isCompatible(session: Session, { address, prefix }: SessionSighting): boolean {
  const isOther = (one: string | undefined, other: string | undefined): boolean =>
    one !== undefined && other !== undefined && one !== other
  return !isOther(session.address, address) && !isOther(session.prefix, prefix)
}

function isStanding(session: Session, sighting: SessionSighting): boolean {
  if (isOpen(session)) return true
  if (sighting.state !== 'ended') return false
  return Math.abs((session.endedAtMs ?? 0) - sighting.seenAtMs) <= ENDS_WITHIN_MS
}

function isHandover(link: Link, sighting: SessionSighting, round: number): boolean {
  const { address, prefix } = link.session
  const isSameAddress =
    (address !== undefined && address === sighting.address) ||
    (prefix !== undefined && prefix === sighting.prefix)
  return link.technology !== sighting.technology && link.round !== round && isSameAddress
}

/** Whether a source that did not know when the session began has seen this one begin after that had ended. */
function beganAfter(session: Session, link: Link, { startedAtMs }: SessionSighting): boolean {
  if (link.startedAtMs !== undefined || startedAtMs === undefined) return false
  return startedAtMs > (session.endedAtMs ?? Number.POSITIVE_INFINITY) - START_JITTER_MS
}

function isSameStart(one: number | undefined, other: number | undefined): boolean {
  return one === undefined || other === undefined || Math.abs(one - other) <= START_JITTER_MS
}
