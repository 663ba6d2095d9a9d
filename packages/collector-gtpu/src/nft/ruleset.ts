import { createHash } from 'node:crypto'
import { G_PDU, GTPU_PORT } from '../packet/g-pdu.ts'

/** What the rules of a tap are made for. */
export interface TapPlace {
  /** Name of the table; one for each service of a machine. */
  readonly table: string
  readonly iface: string
  /** Addresses at which the core takes GTP-U. */
  readonly v4: readonly string[]
  readonly v6: readonly string[]
}

/** Addresses that a set holds. What further ones move is unmatched. */
export const SET_SIZE = 65_536
/** The longest GTP-U header that is followed, in octets: extensions of 28 octets. */
const LONGEST_HEADER = 40
const GTP_HEADER = 8
const GTP_LONG_HEADER = 12
/** Every length that is followed: extensions are multiples of four octets. */
const HEADERS = Array.from(
  { length: (LONGEST_HEADER - GTP_HEADER) / 4 + 1 },
  (_, index) => GTP_HEADER + index * 4,
)
/** Octets before the GTP-U header that a counter counts: IP and UDP; at egress Ethernet too. */
const BEFORE = { ip: 28, ip6: 48 } as const
const ETHERNET = 14
/** A tag without its type: what follows the outer one, and the type of what it is before. */
const TAG_BITS = 32
/** Flags of the first octet without E, S and PN; with S or PN; with E. The spare bit is let through. TS 29.281 §5.1. */
const SHORT = [0x30, 0x38]
const LONG = [0x31, 0x32, 0x33, 0x39, 0x3a, 0x3b]
const EXTENDED = [0x34, 0x35, 0x36, 0x37, 0x3c, 0x3d, 0x3e, 0x3f]
/** What nearly all packets of S1-U and N3 have: compared before the others are looked up. */
const USUAL = { short: 0x30, extended: 0x34 } as const
/** Packets that are no volume. */
export const COUNTERS = ['malformed', 'fragments', 'too_long', 'tagged', 'no_room', 'foreign'] as const

/** Where rules see the packets of an interface. */
export type Hook = 'ingress' | 'egress'
type Way = 'up' | 'down'

/** On the loopback interface each packet comes by both hooks. */
export function hooksOf(iface: string): readonly Hook[] {
  return iface === 'lo' ? ['ingress'] : ['ingress', 'egress']
}

/** Whether two places have the same rules. */
export function layoutOf(place: TapPlace): string {
  return createHash('sha256').update(generation(place, 0)).digest('hex').slice(0, 16)
}

/** The table with nothing in it. `id` names this life of it. */
export function tableText(table: string, id: string): string {
  return `add table netdev ${table} { comment "${id}"; }`
}

/** The hooks, without a rule: instead of those that are `present`, which may be on another interface, or on none. */
export function hooksText({ table, iface }: TapPlace, present: readonly string[]): string {
  const away = present.flatMap((hook) => [
    `flush chain netdev ${table} ${hook}`,
    `delete chain netdev ${table} ${hook}`,
  ])
  const hooks = hooksOf(iface).map(
    (hook) =>
      `add chain netdev ${table} ${hook} { type filter hook ${hook} device "${iface}" priority 0; policy accept; }`,
  )
  return [...away, ...hooks].join('\n')
}

/** How a generation began; kept in the table with it. */
export interface GenerationNote {
  readonly number: number
  readonly sinceMs: number
  readonly layout: string
  /** What the interface had carried when the generation began, and when the one before had ended. */
  readonly began: number
  readonly ended: number
}

/** A note from the comment of a rule; undefined for another comment. */
export function noteFrom(comment: string): GenerationNote | undefined {
  const [layout = '', ...numbers] = comment.split(' ')
  const [number = Number.NaN, sinceMs = Number.NaN, began = Number.NaN, ended = Number.NaN] =
    numbers.map(Number)
  return Number.isFinite(number + sinceMs + began + ended)
    ? { number, sinceMs, layout, began, ended }
    : undefined
}

/**
 * Makes a generation and has the hooks count into it, all at one moment: a packet goes through the rules before or through
 * these.
 */
export function generationText(place: TapPlace, note: Omit<GenerationNote, 'layout'>): string {
  const { table, iface } = place
  const comment = [layoutOf(place), note.number, note.sinceMs, note.began, note.ended].join(' ')
  const jumps = hooksOf(iface).flatMap((hook) => [
    `flush chain netdev ${table} ${hook}`,
    `add rule netdev ${table} ${hook} jump g${note.number}_${hook}`,
  ])
  return [
    generation(place, note.number),
    `add chain netdev ${table} g${note.number}_note`,
    `add rule netdev ${table} g${note.number}_note return comment "${comment}"`,
    ...jumps,
  ].join('\n')
}

/** Takes a generation away that no hook counts into any more. */
export function dropText(
  table: string,
  generation: number,
  { sets, chains }: { readonly sets: readonly string[]; readonly chains: readonly string[] },
): string {
  return [
    // Chains name each other, sets and counters: empty they name nothing.
    ...chains.map((chain) => `flush chain netdev ${table} ${chain}`),
    ...chains.map((chain) => `delete chain netdev ${table} ${chain}`),
    ...sets.map((set) => `delete set netdev ${table} ${set}`),
    ...COUNTERS.map((name) => `delete counter netdev ${table} g${generation}_${name}`),
  ].join('\n')
}

/** The sets, counters and chains of a generation. A chain is there before another goes to it. */
function generation(place: TapPlace, number: number): string {
  const own = `g${number}`
  const lines: string[] = []
  const chain = (name: string, rules: readonly string[]): void => {
    lines.push(`add chain netdev ${place.table} ${own}_${name}`)
    for (const rule of rules) lines.push(`add rule netdev ${place.table} ${own}_${name} ${rule}`)
  }
  for (const name of COUNTERS) lines.push(`add counter netdev ${place.table} ${own}_${name}`)
  for (const set of setsOf(place)) {
    const type = set.inner === 4 ? 'ipv4_addr' : 'ipv6_addr'
    const name = `${own}_${setName(set)}`
    lines.push(
      `add set netdev ${place.table} ${name} { type ${type}; size ${SET_SIZE}; flags dynamic; counter; }`,
    )
  }
  for (const hook of hooksOf(place.iface)) {
    for (const family of ['ip', 'ip6'] as const) {
      if (ends(place, family).length === 0) continue
      for (const way of ['up', 'down'] as const) writeHeaders(chain, own, { hook, family, way })
      chain(`${hook}_${family}`, direction(place, own, hook, family))
    }
    chain(hook, entry(place, own, hook))
  }
  return lines.join('\n')
}

type Chain = (name: string, rules: readonly string[]) => void

interface Path {
  readonly hook: Hook
  readonly family: 'ip' | 'ip6'
  readonly way: Way
}

function ends({ v4, v6 }: TapPlace, family: 'ip' | 'ip6'): readonly string[] {
  return family === 'ip' ? v4 : v6
}

function pathName({ hook, family, way }: Path): string {
  return `${hook}_${family}_${way}`
}

/** One set for each number of octets that its packets have before the inner one. */
interface SetKey {
  readonly way: Way
  readonly inner: 4 | 6
  readonly before: number
}

function setName({ way, inner, before }: SetKey): string {
  return `${way}${inner}_${before}`
}

/** What `setName` with its generation says; undefined for a name of something else. */
export function setFrom(name: string): (SetKey & { readonly generation: number }) | undefined {
  const found = /^g(\d+)_(up|down)([46])_(\d+)$/.exec(name)
  if (found === null) return undefined
  const [, generation, way, inner, before] = found
  return {
    generation: Number(generation),
    way: way === 'up' ? 'up' : 'down',
    inner: inner === '6' ? 6 : 4,
    before: Number(before),
  }
}

function setsOf(place: TapPlace): readonly SetKey[] {
  const families = (['ip', 'ip6'] as const).filter((family) => ends(place, family).length > 0)
  const before = hooksOf(place.iface).flatMap((hook) =>
    families.flatMap((family) => HEADERS.map((header) => octetsBefore(hook, family, header))),
  )
  return [...new Set(before)].flatMap((octets) =>
    (['up', 'down'] as const).flatMap((way) =>
      ([4, 6] as const).map((inner) => ({ way, inner, before: octets })),
    ),
  )
}

function octetsBefore(hook: Hook, family: 'ip' | 'ip6', header: number): number {
  return BEFORE[family] + header + (hook === 'egress' ? ETHERNET : 0)
}

/** G-PDUs by the family of the tunnel: port 2152 and message type 255 (TS 29.281 §6.1); a later fragment has neither. */
function entry(place: TapPlace, own: string, hook: Hook): readonly string[] {
  const families = (['ip', 'ip6'] as const).map((family) => {
    const rest =
      ends(place, family).length === 0 ? `counter name ${own}_foreign` : `goto ${own}_${hook}_${family}`
    return `meta protocol ${family} udp dport ${GTPU_PORT} @th,72,8 ${G_PDU} ${rest}`
  })
  // The kernel takes one tag off. Behind another nothing is followed, but known: the network header is at the tag, or,
  // where the machine itself has put the tag on, at the IP header.
  const behindTag = [TAG_BITS, 0].map((tag) => {
    const type = tag === 0 ? '' : '@nh,16,16 0x0800 '
    const ip = `@nh,${tag},8 0x45 @nh,${tag + 72},8 17`
    const gtp = `@nh,${tag + 176},16 ${GTPU_PORT} @nh,${tag + 232},8 ${G_PDU}`
    return `meta protocol { 0x8100, 0x88a8 } ${type}${ip} ${gtp} counter name ${own}_tagged`
  })
  return [...families, ...behindTag]
}

/** By which end is the core's. Between two of its ends the packet is seen elsewhere too. */
function direction(place: TapPlace, own: string, hook: Hook, family: 'ip' | 'ip6'): readonly string[] {
  const core = `{ ${ends(place, family).join(', ')} }`
  const toCore = `${family} daddr ${core} ${family} saddr != ${core}`
  const fromCore = `${family} saddr ${core} ${family} daddr != ${core}`
  // What is counted has the very headers whose octets are taken off.
  const plain = family === 'ip' ? 'ip hdrlength 5 ip frag-off & 0x3fff == 0' : 'ip6 nexthdr udp'
  const isFragment = family === 'ip' ? 'ip frag-off & 0x3fff != 0' : 'exthdr frag exists'
  return [
    // The way first: half of the packets need no more of the first rule.
    `${toCore} ${plain} goto ${own}_${pathName({ hook, family, way: 'up' })}`,
    `${fromCore} ${plain} goto ${own}_${pathName({ hook, family, way: 'down' })}`,
    `${family} saddr ${core} ${family} daddr ${core} return`,
    `${family} saddr != ${core} ${family} daddr != ${core} counter name ${own}_foreign return`,
    `${isFragment} counter name ${own}_fragments return`,
    `counter name ${own}_too_long`,
  ]
}

/** The chains that find the inner packet behind a header of 8 octets, of 12, and of 12 with extensions. */
function writeHeaders(chain: Chain, own: string, path: Path): void {
  const name = pathName(path)
  for (const header of HEADERS) chain(`${name}_${header}`, innerRules(own, path, header))
  // Backwards: each goes to longer ones. `x16`: an extension ends at 16, its last octet says what comes.
  for (let header = LONGEST_HEADER; header >= GTP_LONG_HEADER; header -= 4) {
    const usual =
      header === GTP_LONG_HEADER
        ? [`@th,${gtpBit(header)},8 1 @th,${gtpBit(header - 1)},8 != 0 goto ${own}_${name}_x${header + 4}`]
        : []
    const rules = [...usual, `@th,${gtpBit(header - 1)},8 0 goto ${own}_${name}_${header}`]
    const next = [1, 2, 3, 4, 5, 6, 7]
      .filter((units) => header + units * 4 <= LONGEST_HEADER)
      .map((units) => `${units} : goto ${own}_${name}_x${header + units * 4}`)
    if (next.length > 0) rules.push(`@th,${gtpBit(header)},8 vmap { ${next.join(', ')} }`)
    // An extension without a length is none.
    rules.push(`@th,${gtpBit(header)},8 0 counter name ${own}_malformed accept`)
    rules.push(`counter name ${own}_too_long accept`)
    chain(`${name}_x${header}`, rules)
  }
  const to = (flags: readonly number[], end: string): readonly string[] =>
    flags.map((value) => `${value} : goto ${own}_${name}_${end}`)
  const first = [...to(SHORT, '8'), ...to(LONG, '12'), ...to(EXTENDED, 'x12')]
  chain(name, [
    `@th,${gtpBit(0)},8 ${USUAL.short} goto ${own}_${name}_8`,
    `@th,${gtpBit(0)},8 ${USUAL.extended} goto ${own}_${name}_x12`,
    `@th,${gtpBit(0)},8 vmap { ${first.join(', ')} }`,
    `counter name ${own}_malformed accept`,
  ])
}

/** Where an octet of the GTP-U header is, in bits from the UDP header. */
function gtpBit(octet: number): number {
  return 64 + octet * 8
}

/** Upper 64 bits of an address: what a phone has of its own (RFC 6459 §5.2). */
const PREFIX_MASK = `0x${'f'.repeat(16)}${'0'.repeat(16)}`

function innerRules(own: string, { hook, family, way }: Path, header: number): readonly string[] {
  const before = octetsBefore(hook, family, header)
  const set = (inner: 4 | 6): string => `${own}_${setName({ way, inner, before })}`
  const inner = gtpBit(header)
  const v4 = inner + (way === 'up' ? 96 : 128)
  const v6 = inner + (way === 'up' ? 64 : 192)
  return [
    `@th,${inner},4 4 update @${set(4)} { @th,${v4},32 } accept`,
    `@th,${inner},4 6 update @${set(6)} { @th,${v6},128 & ${PREFIX_MASK} } accept`,
    // Not taken in: the set is full.
    `@th,${inner},4 { 4, 6 } counter name ${own}_no_room accept`,
    `counter name ${own}_malformed accept`,
  ]
}
