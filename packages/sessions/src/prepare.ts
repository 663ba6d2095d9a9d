import { type Collection, eachPaced, type Reader, type Volume, type VolumeKey } from '@steeple/contracts'
import { storableName } from '@steeple/telecom'
import { counterKey, type Memory, rememberCounters, rememberedSession, rememberLinks } from './memory.ts'
import { rowsIn } from './store/bulk.ts'
import { LINKS, SESSIONS } from './store/tables.ts'

/** Brings into memory what a round names and what is in the store alone. */
export async function prepareRound(
  reader: Reader,
  memory: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<void> {
  for (const [source, names] of await unknownCounters(memory, collections))
    await rememberCounters(reader, memory.counters, source, [...names])
  for (const [source, references] of unknownReferences(memory, collections)) {
    const rows = await rowsIn(reader, LINKS, 'reference', [...references], 'and source = :source', { source })
    await rememberLinks(reader, memory.known, rows)
  }
  await rememberOlder(reader, memory, collections)
}

/** References of sources may hold identities: they are kept and compared as they are stored. */
export function withStorableNames(
  collections: ReadonlyMap<string, Collection>,
): ReadonlyMap<string, Collection> {
  return new Map(
    [...collections].map(([source, collection]) => [
      source,
      {
        ...collection,
        sightings: collection.sightings.map((sighting) => {
          const reference = storableName(sighting.reference)
          return reference === sighting.reference ? sighting : { ...sighting, reference }
        }),
      },
    ]),
  )
}

async function unknownCounters(
  { counters }: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const unknown = new Map<string, Set<string>>()
  for (const [source, { volumes }] of collections)
    await eachPaced(volumes, ({ count }) => {
      if (count === 'delta') return
      const counter = storableName(count.counter)
      const generation = storableName(count.generation)
      if (!counters.has(counterKey({ source, counter, generation }))) addTo(unknown, source, counter)
    })
  return unknown
}

function unknownReferences(
  { known }: Memory,
  collections: ReadonlyMap<string, Collection>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const unknown = new Map<string, Set<string>>()
  const note = (source: string, reference: string): void => {
    if (known.link(source, reference) === undefined) addTo(unknown, source, reference)
  }
  for (const [source, { sightings, volumes }] of collections) {
    for (const { reference } of sightings) note(source, reference)
    for (const { key } of volumes)
      if (key.by === 'session') note(key.source ?? source, storableName(key.reference))
  }
  return unknown
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([value]))
  else known.add(value)
}

/** Sessions that ended before memory begins, whose octets come only now. */
async function rememberOlder(
  reader: Reader,
  { known, sinceMs }: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<void> {
  const late: Volume[] = []
  for (const { volumes } of collections.values())
    await eachPaced(volumes, (volume) => {
      const { fromMs, toMs, count, upBytes, downBytes } = volume
      const isOld = count === 'delta' ? fromMs < sinceMs : toMs < sinceMs
      if (isOld && upBytes + downBytes > 0) late.push(volume)
    })
  const keys = late.map(({ key }) => key)
  const fromMs = late.reduce((least, volume) => Math.min(least, volume.fromMs), sinceMs)
  const ended = 'and ended_at_ms > :from'
  for (const column of ['address', 'prefix', 'imsi'] as const) {
    const wanted = new Set(keys.flatMap((key) => soughtBy(key, column)))
    for (const row of await rowsIn(reader, SESSIONS, column, [...wanted], ended, { from: fromMs }))
      rememberedSession(known, row)
  }
}

function soughtBy(key: VolumeKey, column: 'address' | 'prefix' | 'imsi'): readonly string[] {
  if (key.by === 'imsi') return column === 'imsi' ? [key.imsi] : []
  if (key.by !== 'address') return []
  return key.address.includes('/') === (column === 'prefix') && column !== 'imsi' ? [key.address] : []
}
