import type { Link, Session } from './session.ts'

/** Sessions and links in memory, found by what sightings and volumes name. */
export class SessionIndex {
  readonly sessions: Map<number, Session> = new Map()
  readonly #links = new Map<string, Map<string, Link>>()
  readonly #live = new Map<string, Set<Link>>()
  readonly #bySubscriber = new Map<string, Session[]>()
  readonly #byImsi = new Map<string, Session[]>()
  readonly #byAddress = new Map<string, Session[]>()
  /** Open sessions that some source no longer sees and another one does: looked at anew in each round. */
  disputed: readonly Session[] = []

  link(source: string, reference: string): Link | undefined {
    return this.#links.get(source)?.get(reference)
  }

  /** Links of a source that it still lists, as far as is known. */
  liveLinks(source: string): Iterable<Link> {
    return this.#live.get(source) ?? []
  }

  /** Sessions of a subscriber in an APN. */
  ofSubscriber(imsi: string, apn: string): readonly Session[] {
    return this.#bySubscriber.get(subscriberKey(imsi, apn)) ?? []
  }

  /** Sessions of a subscriber in any APN. */
  ofImsi(imsi: string): readonly Session[] {
    return this.#byImsi.get(imsi) ?? []
  }

  /** Who holds or held an address or prefix, as far as memory goes back. */
  holders(address: string): readonly Session[] {
    return this.#byAddress.get(address) ?? []
  }

  add(session: Session): void {
    this.sessions.set(session.id, session)
    index(this.#bySubscriber, subscriberKey(session.imsi, session.apn), session)
    index(this.#byImsi, session.imsi, session)
    index(this.#byAddress, session.address, session)
    index(this.#byAddress, session.prefix, session)
  }

  addLink(link: Link): void {
    const ofSource = this.#links.get(link.source) ?? new Map<string, Link>()
    this.#links.set(link.source, ofSource)
    const before = ofSource.get(link.reference)
    if (before !== undefined && before !== link) {
      before.session.links.delete(before)
      this.#live.get(link.source)?.delete(before)
    }
    ofSource.set(link.reference, link)
    note(this.#live, link)
  }

  /** After a change of `isLive`. */
  noteLink(link: Link): void {
    note(this.#live, link)
  }

  /** Gives it an address that it did not have. */
  address(session: Session, address: string | undefined, prefix: string | undefined): void {
    session.address = address
    session.prefix = prefix
    index(this.#byAddress, address, session)
    index(this.#byAddress, prefix, session)
  }

  /** Forgets sessions that ended before that time, with their links that no source lists any more. */
  forget(beforeMs: number): void {
    for (const session of this.sessions.values()) {
      const { endedAtMs, links } = session
      if (endedAtMs === undefined || endedAtMs >= beforeMs) continue
      if (![...links].some(({ isLive }) => isLive)) this.#drop(session)
    }
  }

  #drop(session: Session): void {
    this.sessions.delete(session.id)
    unindex(this.#bySubscriber, subscriberKey(session.imsi, session.apn), session)
    unindex(this.#byImsi, session.imsi, session)
    unindex(this.#byAddress, session.address, session)
    unindex(this.#byAddress, session.prefix, session)
    for (const link of session.links) this.#links.get(link.source)?.delete(link.reference)
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
