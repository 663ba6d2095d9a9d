import type { Collection, Collector, ImsiHash, SessionSighting, Volume } from '@steeple/contracts'
import { type Counting, type MemorySource, memoryCollector } from './memory-collector.ts'

/** A collector that is wrong in one thing. */
export interface WrongCollector {
  readonly counting: Counting
  make(source: MemorySource, counting: Counting): Collector
}

/** What a wrong one may look at. `polls`: how often this copy was asked before; `seen`: what it keeps of its own. */
interface View {
  readonly source: MemorySource
  readonly polls: number
  readonly position: string | undefined
  readonly seen: Map<string, SessionSighting>
  readonly copy: number
}

let copies = 0

/** The right collector, and what it gives changed. */
function giving(
  counting: Counting,
  change: (given: Collection, view: View) => Partial<Collection>,
): WrongCollector {
  return {
    counting,
    make: (source) => {
      const right = memoryCollector(source, counting)
      const seen = new Map<string, SessionSighting>()
      copies += 1
      const copy = copies
      let polls = -1
      return {
        ...right,
        poll: async (position, signal) => {
          polls += 1
          const given = await right.poll(position, signal)
          return { ...given, ...change(given, { source, polls, position, seen, copy }) }
        },
      }
    },
  }
}

function sightings(change: (sighting: SessionSighting, view: View) => object): WrongCollector {
  return giving('none', (given, view) => ({
    sightings: given.sightings.map((each) => ({ ...each, ...change(each, view) })),
  }))
}

function volumes(
  change: (volume: Volume, view: View) => object,
  counting: Counting = 'total',
): WrongCollector {
  return giving(counting, (given, view) => ({
    volumes: given.volumes.map((each) => ({ ...each, ...change(each, view) })),
  }))
}

function other(change: (right: Collector, source: MemorySource) => Partial<Collector>): WrongCollector {
  return {
    counting: 'total',
    make: (source, counting) => {
      const right = memoryCollector(source, counting)
      return { ...right, ...change(right, source) }
    },
  }
}

function digitsOf({ phones }: MemorySource): string {
  return [...phones.values()][0]?.digits ?? ''
}

const EMPTY: Collection = { sightings: [], isWhole: true, volumes: [], position: undefined, lost: undefined }

const MALFORMED: Readonly<Record<string, WrongCollector>> = {
  'has a name that is none': other(() => ({ source: 'My Core' })),
  'tells a health that nobody knows': other(() => ({
    health: () => ({ status: 'fine' as 'ok', detail: '' }),
  })),
  'gives nothing': other(() => ({ poll: async () => EMPTY })),
  'gives the IMSI for the hash': sightings((_, { source }) => ({ imsi: digitsOf(source) })),
  'names sessions by the IMSI': sightings(({ reference }, { source }) => ({
    reference: `${digitsOf(source)}/${reference}`,
  })),
  'has the IMSI in its position': giving('none', (_, { source }) => ({ position: digitsOf(source) })),
  'has the IMSI in its errors': other((right, source) => ({
    poll: async (position, signal) => {
      if (source.isSilent) throw new Error(`no answer of ${digitsOf(source)}`)
      return await right.poll(position, signal)
    },
  })),
  'has the IMSI in its health': other((_, source) => ({
    health: () => ({ status: 'ok', detail: `last of ${digitsOf(source)}` }),
  })),
  'names no APN': sightings(() => ({ apn: '' })),
  'names no session': sightings(() => ({ reference: '' })),
  'gives all sessions one name': sightings(() => ({ reference: 'session' })),
  'has a state of its own': sightings(() => ({ state: 'attached' })),
  'has a technology of its own': sightings(() => ({ technology: '4G' })),
  'writes a PLMN without a dash': sightings(() => ({ plmn: '99999' })),
  'writes an address with its mask': sightings(({ address }) => ({ address: `${address}/32` })),
  'writes a prefix without its length': sightings(() => ({ prefix: '2001:db8::' })),
  'tells times in seconds': sightings(({ seenAtMs }) => ({ seenAtMs: Math.floor(seenAtMs / 1_000) })),
  'lets sessions begin in the future': sightings(({ seenAtMs }) => ({ startedAtMs: seenAtMs * 2 })),
  'counts negative octets': volumes(() => ({ upBytes: -1 })),
  'counts half octets': volumes(() => ({ downBytes: 0.5 })),
  'has a span that ends before it begins': volumes(({ toMs }) => ({ fromMs: toMs + 1 })),
  'has a span in the future': volumes(({ toMs }) => ({ toMs: toMs * 2 })),
  'says of nobody whose octets they are': volumes(() => ({ key: { by: 'session', reference: '' } })),
  'keys octets with the IMSI': volumes((_, { source }) => ({
    key: { by: 'imsi', imsi: digitsOf(source) },
  })),
  'keys octets with an address and its port': volumes(
    ({ key }) => ({ key: { by: 'address', address: `${key.by === 'address' ? key.address : ''}:80` } }),
    'delta',
  ),
  'names no generation': volumes(() => ({ count: { counter: 'a', generation: '' } })),
}

const BEHAVING: Readonly<Record<string, WrongCollector>> = {
  'takes a source that is silent for an empty one': other((right, source) => ({
    poll: async (position, signal) => (source.isSilent ? EMPTY : await right.poll(position, signal)),
  })),
  'gives what it knew while its source is silent': other((right, source) => {
    let last: Collection = EMPTY
    return {
      poll: async (position, signal) => {
        if (source.isSilent) return last
        last = await right.poll(position, signal)
        return last
      },
    }
  }),
  'ignores an aborted signal': other((right) => ({
    poll: (position) => right.poll(position, new AbortController().signal),
  })),
  'acts although its signal is aborted': other((right, source) => ({
    poll: async (position, signal) => {
      if (signal.aborted) source.run += 1
      return await right.poll(position, signal)
    },
  })),
  'empties its source by reading it': other((right, source) => ({
    poll: async (position, signal) => {
      const given = await right.poll(position, signal)
      source.journal.length = 0
      return given
    },
  })),
}

const OF_SESSIONS: Readonly<Record<string, WrongCollector>> = {
  'sees the first session only': giving('none', ({ sightings: all }) => ({ sightings: all.slice(0, 1) })),
  'sees each session twice': giving('none', ({ sightings: all }) => ({
    sightings: [...all, ...all.map((each) => ({ ...each, reference: `${each.reference}-again` }))],
  })),
  'gives another APN': sightings(() => ({ apn: 'default' })),
  'leaves out an address that it knows': sightings(() => ({ address: undefined })),
  'makes up a prefix': sightings(() => ({ prefix: '2001:db8::/64' })),
  'takes live sessions for ended ones': sightings(() => ({ state: 'ended' })),
  'names a session anew at each poll': sightings(({ reference }, { polls }) => ({
    reference: `${reference}-${polls}`,
  })),
  'names sessions by their place in the list': giving('none', ({ sightings: all }) => ({
    sightings: all.map((each, at) => ({ ...each, reference: `${at}` })),
  })),
  'names a session anew in each copy': sightings(({ reference }, { copy }) => ({
    reference: `${copy}-${reference}`,
  })),
  'never lets a session end': giving('none', () => ({ isWhole: false })),
  'gives new sessions only and calls that all': giving('none', ({ sightings: all }, { seen }) => {
    const news = all.filter(({ reference }) => !seen.has(reference))
    for (const each of news) seen.set(each.reference, each)
    return { sightings: news }
  }),
  'lets sessions end that it has seen itself only': giving('none', ({ sightings: all }, { seen }) => {
    const live = new Set(all.map(({ reference }) => reference))
    const ended = [...seen.values()].filter(({ reference }) => !live.has(reference))
    for (const each of all) seen.set(each.reference, each)
    return {
      sightings: [...all, ...ended.map((each) => ({ ...each, state: 'ended' as const }))],
      isWhole: false,
    }
  }),
  'keeps sessions of a core that has restarted': giving('none', ({ sightings: all }, { source, seen }) => {
    for (const each of all) seen.set(each.reference, each)
    const stale = [...seen.values()].filter(({ reference }) => !reference.startsWith(`${source.run}/`))
    return { sightings: [...all, ...stale] }
  }),
  'sees nobody after a restart of the core': giving('none', ({ sightings: all }, { source }) => ({
    sightings: source.run > 1 ? [] : all,
  })),
}

function keyOf(imsi: string): Volume['key'] {
  return { by: 'imsi', imsi: imsi as ImsiHash } // of a sighting
}

/** Octets in the journal from a place on, as deltas. */
function journalFrom(source: MemorySource, from: number, { volumes: [one] }: Collection): readonly Volume[] {
  if (one === undefined) return []
  return source.journal.slice(from).map(({ address, upBytes, downBytes }) => {
    return { ...one, key: { by: 'address', address: address ?? '' }, upBytes, downBytes }
  })
}

const OF_OCTETS: Readonly<Record<string, WrongCollector>> = {
  'swaps up and down': volumes(({ upBytes, downBytes }) => ({ upBytes: downBytes, downBytes: upBytes })),
  'counts up only': volumes(() => ({ downBytes: 0 })),
  'counts headers': volumes(({ upBytes }) => ({ upBytes: upBytes + 36 }), 'delta'),
  'books all octets on one phone': giving('total', (given) => ({
    volumes: given.volumes.map((each) => ({ ...each, key: keyOf(given.sightings[0]?.imsi ?? '') })),
  })),
  'has one counter for all': volumes(() => ({ count: { counter: 'all', generation: '1' } })),
  'calls totals deltas': volumes(() => ({ count: 'delta' })),
  'knows no generations': volumes(({ count }) => ({
    count: { ...(count === 'delta' ? {} : count), generation: '1' },
  })),
  'begins a generation at each poll': volumes(({ count }, { polls }) => ({
    count: { ...(count === 'delta' ? {} : count), generation: `${polls}` },
  })),
  'begins a generation in each copy': volumes(({ count }, { copy }) => ({
    count: { ...(count === 'delta' ? {} : count), generation: `${copy}` },
  })),
  'begins a counter in each copy': volumes(({ count }, { copy }) => ({
    count: { generation: '1', ...(count === 'delta' ? {} : count), counter: `${copy}` },
  })),
  'keeps no place': giving('delta', () => ({ position: undefined })),
  'keeps the place before': giving('delta', (_, { position }) => ({ position: position ?? '0' })),
  'asks from the beginning whatever the position': giving('delta', (given, { source }) => ({
    volumes: journalFrom(source, 0, given),
  })),
  'keeps its place in memory': {
    counting: 'delta',
    make: (source) => {
      const right = memoryCollector(source, 'delta')
      let place: string | undefined
      return {
        ...right,
        poll: async (_, signal) => {
          const given = await right.poll(place, signal)
          place = given.position
          return given
        },
      }
    },
  },
  'begins at the end in each copy': {
    counting: 'delta',
    make: (source) => {
      const right = memoryCollector(source, 'delta')
      const begin = source.journal.length
      return {
        ...right,
        poll: (position, signal) => right.poll(`${Math.max(Number(position ?? 0), begin)}`, signal),
      }
    },
  },
  'begins again when the core restarts': {
    counting: 'delta',
    make: (source) => {
      const right = memoryCollector(source, 'delta')
      let { run } = source
      return {
        ...right,
        poll: (position, signal) => {
          const isNew = run !== source.run
          run = source.run
          return right.poll(isNew ? undefined : position, signal)
        },
      }
    },
  },
  'hides that it has missed packets': giving('delta', () => ({ lost: undefined })),
}

/** Each is found by the suite. */
export const WRONG_COLLECTORS: Readonly<Record<string, WrongCollector>> = {
  ...MALFORMED,
  ...BEHAVING,
  ...OF_SESSIONS,
  ...OF_OCTETS,
}
