import { createHash } from 'node:crypto'
import type { Collection, Collector, Imsi, ImsiHash, SessionSighting, Volume } from '@steeple/contracts'
import { type BegunSession, type CollectorFixture, fakeClock } from '../../../src/index.ts'

/** What a source in memory knows of one phone. */
interface Phone extends BegunSession {
  readonly digits: Imsi
  readonly reference: string
  upBytes: number
  downBytes: number
}

/** The source: a core with counters, and a journal of what was moved that can be read from any place. */
export class MemorySource {
  readonly clock: ReturnType<typeof fakeClock> = fakeClock()
  readonly phones: Map<string, Phone> = new Map()
  /** What moved, in order; a position is an index. */
  readonly journal: (BegunSession & { readonly upBytes: number; readonly downBytes: number })[] = []
  run = 1
  isSilent = false
  missed = 0
  #last = 0

  begin(digits: Imsi, address: string): Phone {
    this.#last += 1
    const phone: Phone = {
      digits,
      imsi: hashOf(digits),
      apn: 'internet',
      address,
      prefix: undefined,
      reference: `${this.run}/${this.#last}`,
      upBytes: 0,
      downBytes: 0,
    }
    this.phones.set(phone.imsi, phone)
    return phone
  }

  move({ imsi }: BegunSession, upBytes: number, downBytes: number): void {
    const phone = this.phones.get(imsi)
    if (phone === undefined) throw new Error('it has no session')
    phone.upBytes += upBytes
    phone.downBytes += downBytes
    this.journal.push({ ...phone, upBytes, downBytes })
  }

  /** Phones that move octets come back, the others don't. */
  restart(returning: readonly BegunSession[]): void {
    this.run += 1
    const before = [...this.phones.values()]
    this.phones.clear()
    for (const { digits, imsi, address } of before) {
      if (returning.some((each) => each.imsi === imsi)) this.begin(digits, address ?? '')
    }
  }
}

function hashOf(digits: string): ImsiHash {
  return createHash('sha256').update(digits).digest('hex').slice(0, 12) as ImsiHash // as the API has it
}

export function sighting(source: MemorySource, { imsi, apn, address, reference }: Phone): SessionSighting {
  return {
    imsi,
    apn,
    plmn: '999-99',
    address,
    prefix: undefined,
    technology: 'lte',
    cell: undefined,
    state: 'active',
    reference,
    startedAtMs: undefined,
    seenAtMs: source.clock.nowMs(),
  }
}

function span(source: MemorySource): Pick<Volume, 'fromMs' | 'toMs' | 'isIncomplete'> {
  return {
    fromMs: source.clock.nowMs() - 1_000,
    toMs: source.clock.nowMs(),
    isIncomplete: false,
  }
}

function totals(source: MemorySource): readonly Volume[] {
  return [...source.phones.values()].map(({ imsi, reference, upBytes, downBytes }) => ({
    key: { by: 'session', reference },
    upBytes,
    downBytes,
    ...span(source),
    count: { counter: imsi, generation: reference },
  }))
}

function deltas(source: MemorySource, position: string | undefined): readonly Volume[] {
  return source.journal.slice(Number(position ?? 0)).map(({ address, upBytes, downBytes }) => ({
    key: { by: 'address', address: address ?? '' },
    upBytes,
    downBytes,
    ...span(source),
    count: 'delta',
  }))
}

/** How a collector in memory counts. */
export type Counting = 'total' | 'delta' | 'none'

export function memoryCollector(source: MemorySource, counting: Counting): Collector {
  const poll = async (position: string | undefined, signal: AbortSignal): Promise<Collection> => {
    signal.throwIfAborted()
    if (source.isSilent) throw new Error('the source does not answer')
    return {
      sightings:
        counting === 'delta' ? [] : [...source.phones.values()].map((each) => sighting(source, each)),
      isWhole: counting !== 'delta',
      volumes: counting === 'delta' ? deltas(source, position) : counting === 'total' ? totals(source) : [],
      position: counting === 'delta' ? `${source.journal.length}` : undefined,
      lost: source.missed === 0 ? undefined : { packets: source.missed, fromMs: 0, toMs: 1 },
    }
  }
  return { source: 'memory', poll, health: () => ({ status: 'ok', detail: 'in memory' }) }
}

/** Makes a collector over a source; `restarts`: how often that was made anew. */
export type Make = (source: MemorySource, counting: Counting) => Collector

/** A fixture around a collector of a source in memory. */
export async function memoryCollectorFixture(counting: Counting, make: Make): Promise<CollectorFixture> {
  const source = new MemorySource()
  const imsis = [1, 2, 3, 4, 5, 6].map((number) => `99999000000000${number}` as Imsi)
  const phones: [BegunSession, BegunSession] = [
    source.begin(imsis[0] ?? ('' as Imsi), '10.45.0.2'),
    source.begin(imsis[1] ?? ('' as Imsi), '10.45.0.3'),
  ]
  let begun = 2
  let collector = make(source, counting)
  const sessions: CollectorFixture['sessions'] = {
    begin: async () => {
      begun += 1
      return source.begin(imsis[begun - 1] ?? ('' as Imsi), `10.45.0.${begun + 1}`)
    },
    end: async ({ imsi }) => void source.phones.delete(imsi),
  }
  const traffic: CollectorFixture['traffic'] = {
    phones,
    move: async (phone, up, down) => source.move(phone, up, down),
    lose: async () => {
      source.missed += 1
    },
  }
  return {
    get collector() {
      return collector
    },
    clock: source.clock,
    imsis,
    ...(counting === 'delta' ? {} : { sessions }),
    ...(counting === 'none' ? {} : { traffic }),
    restartCore: async () => source.restart(phones),
    reopen: async () => {
      collector = make(source, counting)
      return collector
    },
    fallSilent: async () => {
      source.isSilent = true
    },
    world: async () => JSON.stringify([[...source.phones], source.journal, source.run]),
    close: async () => undefined,
  }
}
