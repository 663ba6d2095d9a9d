import { ipv4From, prefixFrom } from '../packet/address.ts'
import { NO_PACKETS, type TapCounter, type TapStats } from '../upf-tap.ts'
import { type Counted, setFrom } from './keys.ts'
import { type GenerationNote, noteFrom } from './ruleset.ts'

/** Packets of phones that no rule could follow. */
const UNMATCHED = ['fragments', 'too_long', 'merged', 'tagged', 'no_room'] as const

/** The octets of a generation by address. */
export function* countersOf(generation: ListedGeneration | undefined): Iterable<TapCounter> {
  for (const [address, octets] of generation?.octets ?? []) {
    const upBytes = octets.up + handedOn(octets)
    // The machine's own address at its TUN interface is among the phones', and is nobody's.
    if (upBytes + octets.down > 0) yield { address, upBytes, downBytes: octets.down }
  }
}

/** What the UPF has handed on from one phone to another by itself. */
export function handedOn({ peer, back }: Readonly<AddressOctets>): number {
  return Math.max(0, peer - back)
}

/** Packets that were counted for an address. */
export function receivedOf(generation: ListedGeneration | undefined): number {
  const counted = generation?.counted ?? NO_OCTETS
  return counted.up + handedOn(counted) + counted.down
}

/** Packets of phones that no rule could follow. */
function unmatchedOf(generation: ListedGeneration | undefined): number {
  return UNMATCHED.reduce((sum, name) => sum + (generation?.packets.get(name) ?? 0), 0)
}

/** What a generation says of packets. */
export function statsOf(generation: ListedGeneration | undefined, refused: number): TapStats {
  return {
    ...NO_PACKETS,
    received: receivedOf(generation),
    malformed: generation?.packets.get('malformed') ?? 0,
    unmatched: unmatchedOf(generation),
    foreign: generation?.packets.get('foreign') ?? 0,
    refused,
  }
}

/** Octets of an address, by what its sets count. */
type AddressOctets = Record<Counted, number>

const NO_OCTETS: AddressOctets = { up: 0, down: 0, peer: 0, back: 0 }

/** What counts, and has counted, in one generation of a table. */
export interface ListedGeneration {
  readonly sets: string[]
  readonly chains: string[]
  /** Packets by the name of what they are no volume for. */
  readonly packets: Map<string, number>
  readonly octets: Map<string, AddressOctets>
  /** Packets, by what their sets count. */
  readonly counted: Record<Counted, number>
  /** Elements of its largest set. */
  largest: number
}

/** A table of a tap as it stands in the kernel. */
export interface ListedTable {
  id: string
  /** The chains of hooks: the device of each, and the generation that it counts into, where it has them. */
  readonly hooks: Map<string, { device?: string; counts?: number }>
  readonly notes: Map<number, GenerationNote>
  readonly generations: Map<number, ListedGeneration>
}

/** Takes the lines of `nft list table`. Throws SyntaxError for a table that no tap has made. */
export interface ListingReader {
  line(text: string): void
  end(): ListedTable
}

/** What one set says of each of its elements. */
type Listed = Map<string, { readonly packets: number; readonly octets: number }>

const BLOCK = /^\t(set|chain|counter) (\S+) \{$/
/** The key, and what its counter reads; or that of an element with a quota, in the largest unit that divides it. */
const ELEMENT =
  /([0-9a-f:.x]+(?: \. [0-9a-fx]+)*) (?:counter packets (\d+) bytes (\d+)|quota \d+ \w+ used (\d+) (bytes|kbytes|mbytes))/g
const UNITS: Readonly<Record<string, number>> = { bytes: 1, kbytes: 1_024, mbytes: 1_048_576 }
const GENERATION = /^g(\d+)_(.+)$/

/** Reads a listing line by line: of a table with many elements nothing but their sums, and one set, is kept. */
export function listingReader(): ListingReader {
  const table: ListedTable = { id: '', hooks: new Map(), notes: new Map(), generations: new Map() }
  let block: { kind: string; name: string } | undefined
  const generationOf = (name: string): ListedGeneration | undefined => {
    const number = Number(GENERATION.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(number)) return undefined
    const found = table.generations.get(number) ?? emptyGeneration()
    table.generations.set(number, found)
    return found
  }
  const begin = (kind: string, name: string): void => {
    block = { kind, name }
    if (kind === 'set') generationOf(name)?.sets.push(name)
    if (kind === 'set') listed = new Map()
    if (kind !== 'chain') return
    const generation = generationOf(name)
    if (generation === undefined) table.hooks.set(name, {})
    else generation.chains.push(name)
  }
  let listed: Listed = new Map()
  const inBlock = ({ kind, name }: { kind: string; name: string }, text: string): void => {
    if (kind === 'chain') readRule(table, name, text)
    const generation = kind === 'chain' ? undefined : generationOf(name)
    if (generation === undefined) return
    if (kind === 'counter') readCounter(generation, name, text)
    else {
      addElements(generation, name, text, listed)
      generation.largest = Math.max(generation.largest, listed.size)
    }
  }
  return {
    line: (text) => {
      const [, kind, name] = BLOCK.exec(text) ?? []
      if (kind !== undefined && name !== undefined) begin(kind, name)
      else if (text === '\t}') block = undefined
      else if (block !== undefined) inBlock(block, text)
      else table.id = /^\tcomment "([^"]*)"/.exec(text)?.[1] ?? table.id
    },
    end: () => {
      if (table.id === '') throw new SyntaxError('the listing names no table of a tap')
      return table
    },
  }
}

function emptyGeneration(): ListedGeneration {
  const counted = { ...NO_OCTETS }
  return { sets: [], chains: [], packets: new Map(), octets: new Map(), counted, largest: 0 }
}

function readRule(table: ListedTable, chain: string, text: string): void {
  const hook = table.hooks.get(chain)
  const device = /^\t\ttype filter hook \S+ device "([^"]*)"/.exec(text)?.[1]
  if (hook !== undefined && device !== undefined) hook.device = device
  const counts = /\b(?:jump|goto) g(\d+)_/.exec(text)?.[1]
  if (hook !== undefined && counts !== undefined) hook.counts = Number(counts)
  const comment = /^\t\treturn comment "([^"]*)"/.exec(text)?.[1]
  const note = comment === undefined ? undefined : noteFrom(comment)
  if (note !== undefined) table.notes.set(note.number, note)
}

function readCounter({ packets }: ListedGeneration, counter: string, text: string): void {
  const count = /packets (\d+)/.exec(text)?.[1]
  const what = GENERATION.exec(counter)?.[2]
  if (count !== undefined && what !== undefined) packets.set(what, Number(count))
}

/**
 * Adds the elements of a line. While the kernel makes room in a set it lists some of them twice: what is more of the two
 * counts, since neither can have counted what the other has not.
 */
function addElements(generation: ListedGeneration, set: string, text: string, listed: Listed): void {
  const found = setFrom(set)
  if (found === undefined) return
  for (const [, key = '', inAll, bytes, used, unit = ''] of text.matchAll(ELEMENT)) {
    const element = readElement(
      key.split(' . '),
      found.before,
      inAll,
      Number(bytes ?? Number(used) * (UNITS[unit] ?? Number.NaN)),
    )
    const before = listed.get(key)
    if (before !== undefined && before.packets >= element.packets) continue
    listed.set(key, element)
    const sums = generation.octets.get(element.address) ?? { ...NO_OCTETS }
    sums[found.way] += element.octets - (before?.octets ?? 0)
    generation.octets.set(element.address, sums)
    generation.counted[found.way] += element.packets - (before?.packets ?? 0)
  }
}

/** An element that has `counted` so many octets. `before`: what each of its packets has before the inner one. */
function readElement(
  parts: string[],
  before: number | undefined,
  inAll: string | undefined,
  counted: number,
): { readonly address: string; readonly packets: number; readonly octets: number } {
  // Of a late one: the length of its packets, and what each has before the inner one.
  const [length = Number.NaN, mark = Number.NaN] = before === undefined ? parts.splice(-2).map(Number) : []
  const packets = Number(inAll ?? counted / length)
  return { address: addressFrom(parts), packets, octets: counted - packets * (before ?? mark) }
}

/** Of a set with one field as nft writes it, or as numbers: an IPv4 address, or the halves of an IPv6 prefix. */
function addressFrom([first = '', second]: readonly string[]): string {
  if (second !== undefined) return prefixFrom(Number(first), Number(second))
  if (first.includes(':')) return `${first}/64`
  return first.includes('.') ? first : ipv4From(Number(first))
}

/** The generation that counts now; the last one where no hook says. */
export function activeOf({ hooks, generations }: ListedTable): number {
  const counts = [...hooks.values()].map((hook) => hook.counts ?? 0)
  return Math.max(0, ...(counts.some((number) => number > 0) ? counts : generations.keys()))
}

/** The name of a generation of a table. */
export function nameOf({ id }: ListedTable, generation: number): string {
  return `${id}.${generation}`
}

/** The names of all generations of a table. */
export function namesOf(table: ListedTable): readonly string[] {
  return [...table.generations.keys()].map((number) => nameOf(table, number))
}
