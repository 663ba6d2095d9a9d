import type { Link, Session } from './session.ts'

/** Sessions and links in memory, found by what sightings and volumes name. */
export interface SessionIndex {
  readonly sessions: ReadonlyMap<number, Session>
  link(source: string, reference: string): Link | undefined
  /** Links of a source that it still lists, as far as is known. */
  liveLinks(source: string): Iterable<Link>
  /** Sessions of a subscriber in an APN. */
  ofSubscriber(imsi: string, apn: string): readonly Session[]
  /** Sessions of a subscriber in any APN. */
  ofImsi(imsi: string): readonly Session[]
  /** Who holds or held an address or prefix, as far as memory goes back. */
  holders(address: string): readonly Session[]
  add(session: Session): void
  addLink(link: Link): void
  /** After a change of `isLive`. */
  noteLink(link: Link): void
  /** Gives it an address that it did not have. */
  address(session: Session, address: string | undefined, prefix: string | undefined): void
  /** Open sessions that some source no longer sees and another one does: looked at anew in each round. */
  disputed(): Iterable<Session>
  dispute(sessions: Iterable<Session>): void
  /** Forgets sessions that ended before that time, with their links that no source lists any more. */
  forget(beforeMs: number): void
}

export function emptySessionIndex(): SessionIndex {
  const sessions = new Map<number, Session>()
  const links = new Map<string, Map<string, Link>>()
  const live = new Map<string, Set<Link>>()
  const bySubscriber = new Map<string, Session[]>()
  const byImsi = new Map<string, Session[]>()
  const byAddress = new Map<string, Session[]>()

  let disputed: readonly Session[] = []

  const drop = (session: Session): void => {
    sessions.delete(session.id)
    unindex(bySubscriber, subscriberKey(session.imsi, session.apn), session)
    unindex(byImsi, session.imsi, session)
    unindex(byAddress, session.address, session)
    unindex(byAddress, session.prefix, session)
    for (const link of session.links) links.get(link.source)?.delete(link.reference)
  }
  return {
    sessions,
    link: (source, reference) => links.get(source)?.get(reference),
    liveLinks: (source) => live.get(source) ?? [],
    ofSubscriber: (imsi, apn) => bySubscriber.get(subscriberKey(imsi, apn)) ?? [],
    ofImsi: (imsi) => byImsi.get(imsi) ?? [],
    holders: (address) => byAddress.get(address) ?? [],
    add: (session) => {
      sessions.set(session.id, session)
      index(bySubscriber, subscriberKey(session.imsi, session.apn), session)
      index(byImsi, session.imsi, session)
      index(byAddress, session.address, session)
      index(byAddress, session.prefix, session)
    },
    addLink: (link) => {
      const ofSource = links.get(link.source) ?? new Map<string, Link>()
      links.set(link.source, ofSource)
      const before = ofSource.get(link.reference)
      if (before !== undefined && before !== link) {
        before.session.links.delete(before)
        live.get(link.source)?.delete(before)
      }
      ofSource.set(link.reference, link)
      note(live, link)
    },
    noteLink: (link) => note(live, link),
    address: (session, address, prefix) => {
      session.address = address
      session.prefix = prefix
      index(byAddress, address, session)
      index(byAddress, prefix, session)
    },
    disputed: () => disputed,
    dispute: (those) => {
      disputed = [...those]
    },
    forget: (beforeMs) => {
      for (const session of sessions.values()) {
        const { endedAtMs, links: own } = session
        if (endedAtMs === undefined || endedAtMs >= beforeMs) continue
        if (![...own].some(({ isLive }) => isLive)) drop(session)
      }
    },
  }
}

function index(map: Map<string, Session[]>, key: string | undefined, session: Session): void {
  if (key === undefined) return
  const list = map.get(key)
  if (list === undefined) map.set(key, [session])
  else if (!list.includes(session)) list.push(session)
}

function unindex(map: Map<string, Session[]>, key: string | undefined, session: Session): void {
  if (key === undefined) return
  const rest = (map.get(key) ?? []).filter((each) => each !== session)
  if (rest.length === 0) map.delete(key)
  else map.set(key, rest)
}

function note(live: Map<string, Set<Link>>, link: Link): void {
  const ofSource = live.get(link.source) ?? new Set<Link>()
  live.set(link.source, ofSource)
  if (link.isLive) ofSource.add(link)
  else ofSource.delete(link)
}

function subscriberKey(imsi: string, apn: string): string {
  return `${imsi} ${apn}`
}
