import type { Collection, Collector, SessionSighting, Volume } from '@steeple/contracts'
import type { BegunSession } from './collector.ts'
import { patient } from './common.ts'

interface Octets {
  upBytes: number
  downBytes: number
}

/** Counts what a collector gives as whoever keeps usage does: volumes with the position in one step. */
export class CollectorLedger {
  readonly #sums = new Map<string, Octets>()
  readonly #counters = new Map<string, Octets & { generation: string }>()
  readonly #live = new Map<string, SessionSighting>()
  /** Whose a reference was, also when the session has ended. */
  readonly #owners = new Map<string, string>()
  #position: string | undefined

  /** Asks from the kept position and counts. */
  async round(collector: Collector): Promise<Collection> {
    const collection = await this.ask(collector)
    this.count(collection)
    return collection
  }

  /** Asks from the kept position; nothing is counted. */
  ask(collector: Collector): Promise<Collection> {
    return collector.poll(this.#position, patient())
  }

  count({ sightings, isWhole, volumes, position }: Collection): void {
    if (isWhole) this.#live.clear()
    for (const sighting of sightings) {
      this.#owners.set(sighting.reference, sighting.imsi)
      if (sighting.state === 'ended') this.#live.delete(sighting.reference)
      else this.#live.set(sighting.reference, sighting)
    }
    for (const volume of volumes) this.#add(volume)
    this.#position = position ?? this.#position
  }

  /** The sessions that live, as far as was counted. */
  get live(): readonly SessionSighting[] {
    return [...this.#live.values()]
  }

  /** What was counted of it, whatever the volumes were keyed with. */
  sumOf({ imsi, address, prefix, reference }: BegunSession): readonly [number, number] {
    const names = new Set<string | undefined>([imsi, address, prefix, reference])
    for (const [name, owner] of this.#owners) if (owner === imsi) names.add(name)
    const sums = [...this.#sums].filter(([name]) => names.has(name)).map(([, sum]) => sum)
    return [
      sums.reduce((sum, { upBytes }) => sum + upBytes, 0),
      sums.reduce((sum, { downBytes }) => sum + downBytes, 0),
    ]
  }

  #add({ key, count, upBytes, downBytes }: Volume): void {
    const before = count === 'delta' ? undefined : this.#counters.get(count.counter)
    const isKnown = count !== 'delta' && before?.generation === count.generation
    const isBeginning = count !== 'delta' && count.isBeginning === true
    const from = isKnown ? before : isBeginning ? { upBytes, downBytes } : { upBytes: 0, downBytes: 0 }
    const name = key.by === 'imsi' ? key.imsi : key.by === 'address' ? key.address : key.reference
    const sum = this.#sums.get(name) ?? { upBytes: 0, downBytes: 0 }
    this.#sums.set(name, {
      upBytes: sum.upBytes + Math.max(upBytes - from.upBytes, 0),
      downBytes: sum.downBytes + Math.max(downBytes - from.downBytes, 0),
    })
    if (count !== 'delta')
      this.#counters.set(count.counter, { generation: count.generation, upBytes, downBytes })
  }
}
