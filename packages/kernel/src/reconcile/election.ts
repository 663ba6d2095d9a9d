import { randomUUID } from 'node:crypto'
import { type Log, type Reader, secretsInvalid, storeInvalid } from '@steeple/contracts'
import type { Database, SideConnection, WriterTx } from '@steeple/store'
import type { Machine } from '../clock/clock-keeper.ts'
import type { Timers } from '../clock/deadline.ts'
import type { Leadership, Term } from './leadership.ts'

/** Who holds the lease, by the database's own time. */
interface LeaseRow {
  /** A random id for each process; empty when nobody holds it. */
  readonly holder: string
  readonly name: string
  /** Fingerprint of the holder's keys: instances of one store have the same. */
  readonly keys: string
  readonly epoch: number
  /** Grows with each renewal, so that others see one without comparing clocks. */
  readonly renewals: number
  readonly expires_at_ms: number
  readonly now_ms: number
}

/** The tables of a store that instances share: the lease, and keys that one of them leaves for another. */
export const LEASE_DDL: readonly string[] = [
  `create table if not exists kernel_lease (id integer not null primary key, holder text not null, name text not null, keys text not null,
    epoch bigint not null, renewals bigint not null, expires_at_ms bigint not null)`,
  `insert into kernel_lease (id, holder, name, keys, epoch, renewals, expires_at_ms) values (1, '', '', '', 0, 0, 0)
    on conflict do nothing`,
  `create table if not exists kernel_wanted (id text not null primary key, resource text not null, keys text not null,
    at_ms bigint not null)`,
]

/** One clock for all: not the transaction's beginning, which may be long ago. */
const NOW = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
const READ = `select holder, name, keys, epoch, renewals, expires_at_ms, ${NOW} as now_ms from kernel_lease where id = 1`
const RENEW = `update kernel_lease set renewals = renewals + 1, expires_at_ms = ${NOW} + :ttl
  where id = 1 and holder = :holder and epoch = :epoch returning epoch`
const TAKE = `update kernel_lease set holder = :holder, name = :name, keys = :keys, epoch = epoch + 1, renewals = 0,
  expires_at_ms = ${NOW} + :ttl
  where id = 1 and epoch = :epoch and renewals = :renewals`
const RELEASE = `update kernel_lease set holder = '' where id = 1 and holder = :holder and epoch = :epoch
  returning epoch`
const EPOCH = 'select holder, epoch from kernel_lease where id = 1'

/** The lease as it is now; undefined in a store from before there was one. */
export async function readLease(reader: Pick<Reader, 'all'>): Promise<LeaseRow | undefined> {
  return (await reader.all<LeaseRow>(READ))[0]
}

/** The epoch that a transaction of the writer commits under. */
export async function epochOf(tx: WriterTx): Promise<{ readonly holder: string; readonly epoch: number }> {
  return (await tx.get<{ holder: string; epoch: number }>(EPOCH)) ?? { holder: '', epoch: 0 }
}

interface ElectionOptions {
  readonly db: Pick<Database, 'transact'>
  readonly side: SideConnection
  readonly machine: Machine
  readonly timers: Timers
  readonly log: Log
  /** `cluster.instance`. */
  readonly name: string
  /** Fingerprint of the keys. */
  readonly keys: string
}

/** From one renewal to the end, by the database's clock. With what follows a leader that died is replaced in 10 s. */
const LEASE_MS = 5_000
/** The holder counts on so much less: clocks run at different speeds, and what it has begun takes a moment to end. */
const MARGIN_MS = 1_000
const RENEW_MS = 1_200
/** After a renewal that failed, and between two looks at the lease of another. */
const LOOK_MS = 500
/** At the start: a lease that ended so long ago ended, whatever the clocks of the databases differ by. */
const LONG_OVER_MS = 60_000
/** Nobody has a lease that was not renewed for so long, whatever the clock of the database says: it was set back. */
const ABANDONED_MS = 3 * LEASE_MS

/** Joins the instances that share a store: leads at once when nobody does. Throws `store_invalid`, `store_unavailable`. */
export async function joinElection(options: ElectionOptions): Promise<Leadership> {
  const candidate = new Candidate(options)
  await candidate.join()
  return candidate
}

interface SeenLease {
  readonly row: LeaseRow
  readonly sinceMs: number
}

/** One process among those that share a store. */
class Candidate implements Leadership {
  readonly #options: ElectionOptions
  readonly #holder = randomUUID()
  readonly #listeners = new Set<() => void>()
  #term: HeldTerm | undefined
  /** The lease as last seen to change, and when by this instance's own clock. */
  #seen: SeenLease | undefined
  #timer: unknown
  #isClosed = false
  #step = Promise.resolve()

  constructor(options: ElectionOptions) {
    this.#options = options
  }

  async join(): Promise<void> {
    await this.#look()
    this.#refuseForeign()
    const others = this.#seen?.row
    // One without a name is meant to be alone: what it finds is its own past, or another that should have a name.
    while (this.#options.name === '' && this.#term === undefined) {
      await new Promise<void>((resolve) => {
        this.#options.timers.setTimeout(resolve, LOOK_MS)
      })
      await this.#look()
      const row = this.#seen?.row
      if (others !== undefined && row?.epoch === others.epoch && row.renewals === others.renewals) continue
      if (this.#term === undefined) throw storeInvalid(NAMELESS)
    }
    this.#plan()
  }

  /** What one instance seals or signs the others could not open. */
  #refuseForeign(): void {
    const row = this.#seen?.row
    if (this.#term !== undefined || row === undefined || row.keys === this.#options.keys) return
    throw secretsInvalid(
      `the keys of this instance are not those of ${row.name || 'the instance'} that leads; ` +
        'copy its keys directory, whole, into <data_dir>/keys',
    )
  }

  term(): Term | undefined {
    if (this.#term !== undefined && this.#term.remainingMs() <= 0) this.#end('it was not renewed in time')
    return this.#term
  }

  view(): ReturnType<Leadership['view']> {
    const { name } = this.#options
    const term = this.term()
    if (term !== undefined) return { name, role: 'leader', leader: name, epoch: term.epoch }
    const row = this.#seen?.row
    const isHeld = row !== undefined && row.holder !== '' && row.holder !== this.#holder
    return { name, role: 'follower', leader: isHeld ? row.name : undefined, epoch: row?.epoch ?? 0 }
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#options.timers.clearTimeout(this.#timer)
    await this.#step
    const term = this.#term
    if (term === undefined) return
    this.#end('this instance stops')
    // Where it cannot be given back it ends by itself.
    const mine = { holder: this.#holder, epoch: term.epoch }
    await this.#options.side.all(RELEASE, mine).catch(() => undefined)
  }

  #plan(): void {
    if (this.#isClosed) return
    this.#timer = this.#options.timers.setTimeout(
      () => {
        this.#step = this.#next().then(() => this.#plan())
      },
      this.#term?.isFresh === true ? RENEW_MS : LOOK_MS,
    )
  }

  async #next(): Promise<void> {
    try {
      const term = this.term()
      if (term === undefined) await this.#look()
      else await this.#renew(term as HeldTerm)
    } catch (error) {
      if (this.#term !== undefined) this.#term.isFresh = false
      this.#options.log.debug({ err: error }, 'the lease could not be looked at')
    }
  }

  async #renew(term: HeldTerm): Promise<void> {
    const askedMs = this.#nowMs()
    const mine = { holder: this.#holder, epoch: term.epoch, ttl: LEASE_MS }
    if ((await this.#options.side.all(RENEW, mine)).length === 1) term.prolong(askedMs + LEASE_MS - MARGIN_MS)
    else this.#end('another instance has it')
  }

  async #look(): Promise<void> {
    const row = await readLease(this.#options.side)
    if (row === undefined) throw storeInvalid('kernel_lease is empty; restore a backup')
    const nowMs = this.#nowMs()
    const before = this.#seen
    const isSame = before?.row.epoch === row.epoch && before.row.renewals === row.renewals
    const seen = { row, sinceMs: isSame ? before.sinceMs : nowMs }
    this.#seen = seen
    if (this.#isClosed || !this.#isOver(seen, nowMs, before === undefined)) return
    const askedAt = { ms: nowMs }
    const { name, keys } = this.#options
    const { epoch, renewals } = row
    const by = { holder: this.#holder, name, keys, ttl: LEASE_MS, epoch, renewals }
    // In the writer alone: an epoch never changes while another transaction of the writers goes on.
    const isTaken = await this.#options.db.transact(async (tx) => {
      askedAt.ms = this.#nowMs()
      return (await tx.run(TAKE, by)) === 1
    })
    if (isTaken) this.#begin(epoch + 1, askedAt.ms + LEASE_MS - MARGIN_MS)
    // Another was faster: who has it now, and with which keys, is what counts.
    else this.#seen = { row: (await readLease(this.#options.side)) ?? row, sinceMs: this.#nowMs() }
  }

  /** Given back; or ended by the database's clock, and not renewed as long as this instance looks: clocks may leap. */
  #isOver({ row, sinceMs }: SeenLease, nowMs: number, isFirst: boolean): boolean {
    if (row.holder === '') return true
    const overMs = row.now_ms - row.expires_at_ms
    if (isFirst) return overMs > LONG_OVER_MS
    const sameMs = nowMs - sinceMs
    return overMs > 0 ? sameMs >= LEASE_MS : sameMs >= ABANDONED_MS
  }

  #begin(epoch: number, untilMs: number): void {
    const nowMs = (): number => this.#nowMs()
    this.#term = heldTerm(epoch, untilMs, nowMs, this.#options.timers, () => void this.term())
    this.#options.log.info({ epoch }, 'this instance leads')
    this.#tell()
  }

  #end(why: string): void {
    const term = this.#term
    if (term === undefined) return
    this.#term = undefined
    term.end()
    this.#options.log.warn({ epoch: term.epoch, why }, 'this instance leads no longer')
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Time that goes on while the machine sleeps: the others are awake. */
  #nowMs(): number {
    return this.#options.machine.upMs()
  }
}

const NAMELESS =
  'another instance serves this store; give each of them a name (cluster.instance, SVC_CLUSTER_INSTANCE), and ' +
  'cluster.machine the name of the one that has the radio and the core'

type HeldTerm = ReturnType<typeof heldTerm>

/** `check` is called when it should be over. */
function heldTerm(epoch: number, until: number, nowMs: () => number, timers: Timers, check: () => void) {
  const ended = new AbortController()
  let untilMs = until
  let timer: unknown
  const remainingMs = (): number => (ended.signal.aborted ? -1 : untilMs - nowMs())
  const watch = (): void => {
    timers.clearTimeout(timer)
    timer = timers.setTimeout(check, Math.max(0, remainingMs()) + 1)
  }
  watch()
  const term = {
    epoch,
    /** Whether the newest renewal was answered. */
    isFresh: true,
    signal: ended.signal,
    remainingMs,
    prolong: (ms: number): void => {
      term.isFresh = true
      untilMs = Math.max(untilMs, ms)
      watch()
    },
    end: (): void => {
      timers.clearTimeout(timer)
      ended.abort()
    },
  }
  return term
}
