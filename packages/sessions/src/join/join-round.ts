import type { Collection, SessionSighting, Technology } from '@steeple/contracts'
import { isOpen, type Link, type Session } from './session.ts'
import type { SessionIndex } from './session-index.ts'

/** What a source that works times out differs by from one look to the next, ms. */
const START_JITTER_MS = 5_000
/** A source that lists a session again after so long, and does not say when it began, speaks of another one, ms. */
const BACK_WITHIN_MS = 10 * 60_000
/** Ends of one session as two sources see them lie within, ms. */
const ENDS_WITHIN_MS = 2 * 60_000

/** Whether a reference still means the session that it meant. A core that has restarted may use it for another one. */
function isSame(link: Link, sighting: SessionSighting, nowMs: number): boolean {
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
function candidateFor(
  known: SessionIndex,
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
function isAddressOf(session: Session, { address, prefix }: SessionSighting): boolean {
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

export interface Joined {
  readonly began: readonly Session[]
  readonly ended: readonly Session[]
  /** New here, or with an address that they were not known to have. */
  readonly named: readonly Session[]
}

/**
 * Joins the sightings of all sources of one round into sessions; they and their links say what has changed.
 *
 * First what is known is brought up to date, then new references find their session or begin one, then sessions end:
 * so a reference that takes over from another one in the same round finds its session still open.
 */
export function joinRound(
  known: SessionIndex,
  collections: ReadonlyMap<string, Collection>,
  round: Round,
): Joined {
  const joining = createJoining(known, round)
  const fresh: { readonly source: string; readonly sighting: SessionSighting }[] = []
  for (const [source, { sightings }] of collections)
    for (const sighting of sightings) if (!joining.update(source, sighting)) fresh.push({ source, sighting })
  // The newest of several that claim an address comes last and has it.
  fresh.sort((a, b) => (a.sighting.startedAtMs ?? 0) - (b.sighting.startedAtMs ?? 0))
  // A list that moves while it is read has some entries twice.
  for (const { source, sighting } of fresh)
    if (!joining.update(source, sighting)) joining.find(source, sighting)
  for (const [source, { isWhole, unseen = [] }] of collections) if (isWhole) joining.close(source, unseen)
  return joining.settle()
}

function createJoining(known: SessionIndex, round: Round) {
  const changes = sessionChanges(known, round)
  const unsettled = new Set<Session>(known.disputed)
  const { nowMs, number } = round
  const { begin, end, takeOver, reopen } = changes
  const leave = (link: Link): void => {
    link.isLive = false
    link.isChanged = true
    known.noteLink(link)
    unsettled.add(link.session)
  }
  const apply = (link: Link, sighting: SessionSighting): void => {
    link.round = number
    if (noteSighting(link, sighting)) known.noteLink(link)
    const { session } = link
    if (!isOpen(session)) return
    if (link.isChanged) unsettled.add(session)
    if (noteSession(session, link, sighting)) takeAddress(session, sighting)
    if (sighting.state === 'ended' && link.endsAtMs === undefined) link.endsAtMs = sighting.seenAtMs
  }
  const takeAddress = (session: Session, sighting: SessionSighting): void => {
    known.address(session, session.address ?? sighting.address, session.prefix ?? sighting.prefix)
    changes.named.add(session)
    takeOver(session)
  }
  return {
    /** Whether the reference is known, and of the same session. */
    update: (source: string, sighting: SessionSighting): boolean => {
      const link = known.link(source, sighting.reference)
      if (link === undefined || !isSame(link, sighting, nowMs)) return false
      const isBack = !link.isLive && sighting.state !== 'ended' && !isOpen(link.session)
      if (isBack) reopen(link.session)
      apply(link, sighting)
      return true
    },
    find: (source: string, sighting: SessionSighting): void => {
      const before = known.link(source, sighting.reference)
      if (before?.isLive === true) leave(before)
      const session = candidateFor(known, source, sighting, number)
      if (session === undefined && sighting.state === 'ended' && sighting.startedAtMs === undefined) return
      const owner = session ?? begin(source, sighting)
      const link = linkOf(source, sighting, owner, number)
      owner.links.add(link)
      known.addLink(link)
      apply(link, sighting)
      unsettled.add(owner)
    },
    /** Ends what the source does not list any more, but of what it could not see. */
    close: (source: string, unseen: readonly Technology[]): void => {
      for (const link of [...known.liveLinks(source)])
        if (link.round !== number && !unseen.includes(link.technology)) leave(link)
    },
    settle: (): Joined => {
      for (const session of unsettled) settle(session, round, end)
      known.disputed = [...unsettled].filter(isDisputed)
      return { began: [...changes.began], ended: [...changes.ended], named: [...changes.named] }
    },
  }
}

/** Whether some source no longer sees an open session that another one, which may be silent, still lists. */
export function isDisputed(session: Session): boolean {
  if (!isOpen(session)) return false
  const live = [...session.links].filter(({ isLive }) => isLive)
  return live.length < session.links.size
}

function settle(session: Session, round: Round, end: (session: Session, atMs: number) => void): void {
  if (!isOpen(session)) return
  const links = [...session.links]
  const over = links.filter(({ isLive, state }) => !isLive || state === 'ended')
  const going = links.filter((link) => !over.includes(link))
  const heard = over.length === 0 ? going : going.filter((link) => isHeard(link, round))
  if (heard.length === 0) {
    end(session, Math.min(...over.map(({ endsAtMs }) => endsAtMs ?? round.nowMs)))
    return
  }
  const state = heard.some((link) => link.state === 'active') ? 'active' : 'idle'
  if (state === session.state) return
  session.state = state
  session.isChanged = true
}

/** A source that is silent has no say in whether a session goes on that others no longer see. */
function isHeard(link: Link, { answeredMs, nowMs, silentMs }: Round): boolean {
  return nowMs - (answeredMs.get(link.source) ?? 0) <= silentMs
}

/** Whether what the source says of it has changed. */
function noteSighting(link: Link, sighting: SessionSighting): boolean {
  const { state, technology } = sighting
  const cell = sighting.cell ?? link.cell
  const startedAtMs = link.startedAtMs ?? sighting.startedAtMs
  const isLive = state !== 'ended'
  const isSameAsBefore =
    link.state === state &&
    link.technology === technology &&
    link.cell === cell &&
    link.startedAtMs === startedAtMs &&
    link.isLive === isLive
  if (isSameAsBefore) return false
  Object.assign(link, { state, technology, cell, startedAtMs, isLive, isChanged: true })
  return true
}

/** Takes over what has changed; whether it has an address that was not known. */
function noteSession(session: Session, link: Link, sighting: SessionSighting): boolean {
  const { technology } = link
  const cell = link.isChanged ? (link.cell ?? session.cell) : session.cell
  const plmn = sighting.plmn ?? session.plmn
  if (link.isChanged && (session.technology !== technology || session.cell !== cell)) {
    session.technology = technology
    session.cell = cell
    session.isChanged = true
  }
  if (plmn !== session.plmn) {
    session.plmn = plmn
    session.isChanged = true
  }
  if (isAddressOf(session, sighting)) return false
  session.isChanged = true
  return true
}

function linkOf(source: string, sighting: SessionSighting, session: Session, round: number): Link {
  const { reference, state, technology, cell, startedAtMs } = sighting
  return {
    source,
    reference,
    session,
    isLive: state !== 'ended',
    state,
    technology,
    cell,
    startedAtMs,
    endsAtMs: undefined,
    round,
    isChanged: true,
  }
}

/** One round of collections as it is joined. */
interface Round {
  readonly number: number
  readonly nowMs: number
  /** When each source answered last, this round included. */
  readonly answeredMs: ReadonlyMap<string, number>
  /** When a source answered before this round; undefined when it never did. */
  askedMs(source: string): number | undefined
  /** A source that has not answered for so long is silent, ms. */
  readonly silentMs: number
  /** Gives a new session its number. */
  nextId(): number
}

function sessionChanges(known: SessionIndex, round: Round) {
  const began = new Set<Session>()
  const ended = new Set<Session>()
  const named = new Set<Session>()
  const end = (session: Session, atMs: number): void => {
    session.state = 'ended'
    session.endedAtMs = Math.max(session.startedAtMs, Math.min(atMs, round.nowMs))
    session.isChanged = true
    ended.add(session)
  }
  const takeOver = (session: Session): void => {
    for (const address of [session.address, session.prefix]) {
      if (address === undefined) continue
      for (const other of known.holders(address))
        if (other !== session && isOpen(other) && other.apn === session.apn) end(other, session.startedAtMs)
    }
  }
  return {
    began,
    ended,
    named,
    end,
    takeOver,
    /** A session as a source saw it; others that held its address have ended. */
    begin: (source: string, sighting: SessionSighting): Session => {
      const session = sessionOf(source, sighting, round)
      known.add(session)
      began.add(session)
      named.add(session)
      if (isOpen(session)) takeOver(session)
      else ended.add(session)
      return session
    },
    /** It was taken for ended, and goes on. */
    reopen: (session: Session): void => {
      session.state = 'active'
      session.endedAtMs = undefined
      session.isChanged = true
      began.add(session)
      takeOver(session)
    },
  }
}

function sessionOf(source: string, sighting: SessionSighting, { nowMs, nextId, askedMs }: Round): Session {
  const startedAtMs = Math.max(0, Math.min(sighting.startedAtMs ?? nowMs, nowMs))
  return {
    id: nextId(),
    imsi: sighting.imsi,
    apn: sighting.apn,
    plmn: sighting.plmn,
    address: sighting.address,
    prefix: sighting.prefix,
    technology: sighting.technology,
    cell: sighting.cell,
    state: sighting.state,
    source,
    startedAtMs,
    sinceMs: sighting.startedAtMs === undefined ? Math.min(askedMs(source) ?? 0, startedAtMs) : startedAtMs,
    endedAtMs:
      sighting.state === 'ended' ? Math.max(startedAtMs, Math.min(sighting.seenAtMs, nowMs)) : undefined,
    volumes: new Map(),
    links: new Set(),
    isChanged: true,
  }
}
