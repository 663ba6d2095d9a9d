import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, southboundUnavailable } from '@steeple/contracts'
import { inGroups, safeText } from '@steeple/telecom'
import {
  listed,
  NO_PACKETS,
  type TapSnapshot,
  type TapState,
  type TapStats,
  type UpfTap,
} from '../upf-tap.ts'
import {
  absentOf,
  type InsidePlace,
  insideFor,
  insideOf,
  insideState,
  missedInside,
  phonePools,
  Refusals,
  swallowed,
} from './inside.ts'
import { activeOf, countersOf, type ListedTable, listingReader, nameOf, namesOf, statsOf } from './listing.ts'
import { baseChains, INSIDE, isInside, type TapPlace } from './place.ts'
import { dropText, generationText, hooksText, layoutOf, SET_SIZE, tableText } from './ruleset.ts'
import { isAbsent, type NftRun } from './run-nft.ts'

/** What a tap by rules of the kernel needs. */
export interface NftTapOptions {
  readonly place: Omit<TapPlace, 'isExact' | 'inside' | 'pools'>
  readonly inside: InsidePlace
  readonly clock: Clock
  readonly run: NftRun
  /** What the interface has carried; undefined when it is not there. */
  readonly carried: () => number | undefined
}

/** A generation ends when one of its sets is so full: what is not in it any more needs no room in the next. */
const FULL = SET_SIZE * 0.75
/** What an interface says that it has carried has been counted by then. */
const STILL_MS = 1_000
/** A packet that was under way through the rules before has been counted by then. */
const SETTLE_MS = 50

/**
 * Counts by rules of the kernel. The table outlives this object, and the service: whoever comes next goes on with it. What
 * a generation has counted is taken away only when its final reading was counted.
 */
export class NftTap implements UpfTap {
  readonly #options: NftTapOptions
  #stats: TapStats = NO_PACKETS
  #state: TapState = { status: 'ok', detail: 'not asked yet' }
  /** What the interface had carried at the last reading, and since when it had. */
  #carried = 0
  #carriedMs = 0
  /** Where what phones send was counted at the last reading; nowhere: at the tunnel. */
  #inside: readonly string[] = []
  readonly #refusals = new Refusals()
  readonly #pools: (inside: readonly string[]) => readonly string[]
  #swallowed = 0
  readonly #layouts = new Map<string, string>()
  /** The generations that were there at the first look. */
  #older: ReadonlySet<string> | undefined
  /** A reading that is as good as a new one for as long as the interface carries nothing. */
  #still: TapSnapshot | undefined

  constructor(options: NftTapOptions) {
    this.#options = options
    this.#pools = phonePools(options.inside)
  }

  async snapshot(counted: string | undefined, signal: AbortSignal): Promise<TapSnapshot> {
    try {
      const reading = await this.#read(counted, signal)
      const { place, inside } = this.#options
      const all = `${inGroups(reading.counters.length)} addresses on ${place.iface}`
      this.#state = insideState(all, absentOf(inside, false), this.#inside, this.#swallowed)
      return reading
    } catch (error) {
      this.#state = { status: 'down', detail: safeText(error) }
      throw error
    }
  }

  /** Whether its table is there before it. False also where nobody may look. */
  async isThere(): Promise<boolean> {
    try {
      return (await this.#list(new AbortController().signal)) !== undefined
    } catch {
      return false
    }
  }

  stats(): TapStats {
    return this.#stats
  }

  state(): TapState {
    return this.#state
  }

  async close(keep: boolean): Promise<void> {
    if (keep) return
    const { table } = this.#options.place
    const apart = new AbortController().signal
    try {
      await this.#apply(`delete table netdev ${table}`, apart)
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
  }

  async #read(counted: string | undefined, signal: AbortSignal): Promise<TapSnapshot> {
    const carried = this.#options.carried()
    if (carried === undefined)
      throw southboundUnavailable(
        `there is no interface ${this.#options.place.iface}; it is looked for again`,
      )
    const still = this.#stillAt(carried)
    if (still !== undefined) return still
    const nowMs = this.#options.clock.monotonicMs()
    const isSettled = nowMs - this.#carriedMs >= STILL_MS
    const reading = await this.#readTable(carried, counted, signal)
    if (isSettled && !reading.isFinal && reading.carried === carried) this.#still = reading
    return reading
  }

  /** The last reading, when the interface had been still for a while before it and has been since. */
  #stillAt(carried: number): TapSnapshot | undefined {
    const { clock } = this.#options
    const inside = insideFor(this.#options.inside, this.#inside.length > 0)
    const isMoved = inside.join() !== this.#inside.join()
    if (carried === this.#carried && !isMoved) return this.#still && { ...this.#still, atMs: clock.nowMs() }
    this.#carriedMs = clock.monotonicMs()
    this.#still = undefined
    return undefined
  }

  async #readTable(carried: number, counted: string | undefined, signal: AbortSignal): Promise<TapSnapshot> {
    const found = await this.#list(signal)
    this.#older ??= new Set(found === undefined ? [] : namesOf(found))
    if (found === undefined) {
      await this.#begin(carried, signal)
      return await this.#snapshot(await this.#listed(signal), 1)
    }
    const frozen = await this.#forget(found, counted, signal)
    if (frozen !== undefined) return await this.#snapshot(found, frozen)
    const active = activeOf(found)
    if (!this.#isDue(found, active)) return await this.#snapshot(found, active)
    await this.#rotate(found, active, carried, signal)
    await delay(SETTLE_MS, undefined, { signal })
    return await this.#snapshot(await this.#listed(signal), active)
  }

  /** Takes away the generation that was counted to its end. The oldest that was not; undefined when there is none. */
  async #forget(
    table: ListedTable,
    counted: string | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const active = activeOf(table)
    const frozen = [...table.generations.keys()].filter((number) => number < active).toSorted((a, b) => a - b)
    const done = frozen.find((number) => nameOf(table, number) === counted)
    const gone = done === undefined ? undefined : table.generations.get(done)
    if (gone !== undefined) await this.#apply(dropText(this.#options.place.table, done ?? 0, gone), signal)
    return frozen.find((number) => number !== done)
  }

  /** Whether the rules are not those that are wanted: on another interface, for another core, or full. */
  #isDue(table: ListedTable, active: number): boolean {
    const place = this.#placeFor(table, active)
    return (
      !this.#isHooked(table, place, 'all') ||
      table.notes.get(active)?.layout !== this.#layout(place) ||
      (table.generations.get(active)?.largest ?? 0) >= FULL
    )
  }

  /** As `layoutOf`, made once for each form that the place can have. */
  #layout(place: TapPlace): string {
    const form = `${place.isExact} ${place.inside.length > 0} ${place.pools.join(' ')}`
    const known = this.#layouts.get(form) ?? layoutOf(place)
    this.#layouts.set(form, known)
    return known
  }

  /** Where datagrams have been put together, each is looked at from then on. */
  #placeFor(table: ListedTable, active: number): TapPlace {
    const inside = insideFor(this.#options.inside, table.hooks.has(INSIDE))
    const place = { ...this.#options.place, inside, pools: this.#pools(inside) }
    const isExact =
      (table.generations.get(active)?.packets.get('merged') ?? 0) > 0 ||
      [[], [INSIDE]].some(
        (each) =>
          table.notes.get(active)?.layout ===
          this.#layout({ ...place, inside: each, pools: this.#pools(each), isExact: true }),
      )
    return { ...place, isExact }
  }

  /** Whether all chains of the place have their hook; or those of the tunnel. */
  #isHooked(
    { hooks }: ListedTable,
    place: Pick<TapPlace, 'iface' | 'inside' | 'pools'>,
    parts: 'all' | 'tunnel',
  ): boolean {
    const wanted = baseChains(parts === 'all' ? place : { ...place, inside: [], pools: [] })
    const present = [...hooks.keys()].filter((name) => parts === 'all' || !isInside(name))
    return (
      present.length === wanted.length &&
      wanted.every(
        ({ name, device }) => hooks.get(name)?.device === device && hooks.get(name)?.counts !== undefined,
      )
    )
  }

  async #begin(carried: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const inside = insideFor(this.#options.inside, false)
    const place = { ...this.#options.place, inside, pools: this.#pools(inside), isExact: false }
    const note = { number: 1, sinceMs: clock.nowMs(), began: carried, ended: carried, missed: 0 }
    const id = randomBytes(8).toString('hex')
    const hooks = hooksText(place.table, [], baseChains(place))
    await this.#apply([tableText(place.table, id), hooks, generationText(place, note)].join('\n'), signal)
  }

  async #rotate(table: ListedTable, active: number, carried: number, signal: AbortSignal): Promise<void> {
    const place = this.#placeFor(table, active)
    // Where its hooks are right the tunnel is counted without a gap, whatever happens inside.
    const isTunnel = this.#isHooked(table, place, 'tunnel')
    const present = [...table.hooks.keys()].filter((name) => !isTunnel || isInside(name))
    const wanted = baseChains(place).filter(({ name }) => !isTunnel || isInside(name))
    const hooks = this.#isHooked(table, place, 'all') ? [] : [hooksText(place.table, present, wanted)]
    // Without its hooks nothing was counted since the last look at the latest; an interface that came anew began from 0.
    const ended = isTunnel ? carried : Math.min(this.#carried, carried)
    const missed = missedInside(this.#options.inside, table, place.inside)
    const note = { number: active + 1, sinceMs: this.#options.clock.nowMs(), began: carried, ended, missed }
    await this.#apply([...hooks, generationText(place, note)].join('\n'), signal)
  }

  async #snapshot(table: ListedTable, number: number): Promise<TapSnapshot> {
    const generation = table.generations.get(number)
    const note = table.notes.get(number)
    const next = table.notes.get(number + 1)
    const isFinal = number !== activeOf(table)
    const carried = this.#options.carried() ?? 0
    if (carried !== this.#carried) this.#carriedMs = this.#options.clock.monotonicMs()
    this.#carried = carried
    this.#inside = insideOf(table)
    this.#swallowed = isFinal ? 0 : swallowed(generation)
    this.#stats = statsOf(generation, this.#refusals.seen(nameOf(table, number), generation))
    const name = nameOf(table, number)
    return {
      generation: name,
      isOlder: this.#older?.has(name) === true,
      sinceMs: note?.sinceMs ?? 0,
      atMs: next?.sinceMs ?? this.#options.clock.nowMs(),
      isFinal,
      lost: this.#stats.unmatched + (note?.missed ?? 0) + swallowed(generation),
      began: note?.began ?? 0,
      carried: next?.ended ?? this.#carried,
      // Last: others may be given a turn meanwhile.
      counters: await listed(countersOf(generation)),
    }
  }

  async #listed(signal: AbortSignal): Promise<ListedTable> {
    const table = await this.#list(signal)
    if (table === undefined)
      throw southboundUnavailable(
        `the table netdev ${this.#options.place.table} was removed by somebody else; it is made again`,
      )
    return table
  }

  async #list(signal: AbortSignal): Promise<ListedTable | undefined> {
    const reader = listingReader()
    try {
      await this.#options.run(
        ['list', 'table', 'netdev', this.#options.place.table],
        '',
        (line) => reader.line(line),
        signal,
      )
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
    }
    return reader.end()
  }

  async #apply(text: string, signal: AbortSignal): Promise<void> {
    await this.#options.run(['-f', '-'], `${text}\n`, () => undefined, signal)
  }
}
