import { hash } from 'node:crypto'
import { G_PDU, GTPU_PORT } from '../packet/g-pdu.ts'
import {
  agree,
  ETHERNET,
  GTP_HEADER,
  GTP_LONG_HEADER,
  gtpBit,
  HEADERS,
  IS_SHORT,
  keyType,
  LONGEST_HEADER,
  lateName,
  lengthFields,
  lengthSets,
  NOTHING,
  octetsBefore,
  phoneFields,
  senderFields,
  setName,
  setsOf,
} from './keys.ts'
import {
  BACK,
  type BaseChain,
  baseChains,
  ends,
  type Family,
  type Hook,
  hooksOf,
  INSIDE,
  isBack,
  isInside,
  poolsOf,
  type TapPlace,
  type Way,
} from './place.ts'

/** A tag without its type: what follows the outer one, and the type of what it is before. */
const TAG_BITS = 32
/** Flags of the first octet without E, S and PN; with S or PN; with E. The spare bit is let through. TS 29.281 §5.1. */
const SHORT = [0x30, 0x38]
const LONG = [0x31, 0x32, 0x33, 0x39, 0x3a, 0x3b]
const EXTENDED = [0x34, 0x35, 0x36, 0x37, 0x3c, 0x3d, 0x3e, 0x3f]
/** What nearly all packets of S1-U and N3 have: compared before the others are looked up. */
const USUAL = { short: 0x30, numbered: 0x32, extended: 0x34 } as const
/** Adds a chain with its rules. */
type Chain = (name: string, rules: readonly string[]) => void

interface Path {
  readonly hook: Hook
  readonly family: Family
  readonly way: Way
}

function pathName({ hook, family, way }: Path): string {
  return `${hook}_${family}_${way}`
}

/** To port 2152 (TS 29.281 §4.4.2.3), by the family of the tunnel; a later fragment has no port. */
function entry(place: TapPlace, own: string, hook: Hook): readonly string[] {
  const toPort = `meta l4proto 17 @th,16,16 ${GTPU_PORT}`
  const to = (family: Family, chain: string): string =>
    ends(place, family).length === 0
      ? `@th,72,8 ${G_PDU} counter name ${own}_foreign accept`
      : `goto ${own}_${hook}_${chain}`
  return [
    // Only where the kernel knows of IP is there a transport header: 0x45 is IPv4 without options.
    `${toPort} @nh,0,8 0x45 ${to('ip', 'ip')}`,
    `${toPort} meta protocol ip ${to('ip', 'ip_rest')}`,
    `${toPort} meta protocol ip6 ${to('ip6', 'ip6')}`,
    `meta protocol { 0x8100, 0x88a8 } goto ${own}_${hook}_tagged`,
  ]
}

/**
 * The kernel takes one tag off. Behind another nothing is followed, but known: the network header is at the tag, or,
 * where the machine itself has put the tag on, at the IP header.
 */
function tagged(own: string): readonly string[] {
  return [TAG_BITS, 0].map((tag) => {
    const type = tag === 0 ? '' : '@nh,16,16 0x0800 '
    const ip = `@nh,${tag},8 0x45 @nh,${tag + 72},8 17`
    const gtp = `@nh,${tag + 176},16 ${GTPU_PORT} @nh,${tag + 232},8 ${G_PDU}`
    return `${type}${ip} ${gtp} counter name ${own}_tagged`
  })
}

/** What the rules of a direction say of a packet. */
interface Ways {
  readonly toCore: string
  readonly fromCore: string
  readonly inside: string
  readonly outside: string
}

function waysOf(place: TapPlace, family: Family): Ways {
  const all = ends(place, family)
  // By their place in the packet: `ip daddr` would look at the protocol in each rule again.
  const [from, to] = family === 'ip' ? ['@nh,96,32', '@nh,128,32'] : ['ip6 saddr', 'ip6 daddr']
  const core = `{ ${(family === 'ip' ? all.map(numberOf) : all).join(', ')} }`
  return {
    toCore: `${to} ${core} ${from} != ${core}`,
    fromCore: `${from} ${core} ${to} != ${core}`,
    inside: `${from} ${core} ${to} ${core}`,
    outside: `${from} != ${core} ${to} != ${core}`,
  }
}

function numberOf(address: string): string {
  return `0x${address
    .split('.')
    .map((octet) => Number(octet).toString(16).padStart(2, '0'))
    .join('')}`
}

/**
 * By which end is the core's, of datagrams of usual size. Where datagrams are put together some are long as soon as phones
 * move something: two packets of 1,100 octets are.
 */
function direction(place: TapPlace, own: string, hook: Hook, family: Family): readonly string[] {
  const { toCore, fromCore } = waysOf(place, family)
  // What is counted has the very headers whose octets are taken off.
  const plain = family === 'ip' ? '@nh,48,16 & 0x3fff == 0' : '@nh,48,8 17'
  const one = place.isExact ? agree(own, ['usual']) : IS_SHORT
  const up =
    place.inside.length === 0
      ? `${toCore} ${plain} ${one} goto ${own}_${pathName({ hook, family, way: 'up' })}`
      : `${toCore} @th,72,8 ${G_PDU} counter name ${own}_offered accept`
  return [
    // The way first: half of the packets need no more of the first rule.
    up,
    `${fromCore} ${plain} ${one} goto ${own}_${pathName({ hook, family, way: 'down' })}`,
    `goto ${own}_${hook}_${family}_rest`,
  ]
}

/** What is not counted, and why; and datagrams of unusual size. Between two of the core's ends a packet is seen elsewhere too. */
function rest(place: TapPlace, own: string, hook: Hook, family: Family): readonly string[] {
  const { toCore, fromCore, inside, outside } = waysOf(place, family)
  const isFragment = family === 'ip' ? '@nh,48,16 & 0x3fff != 0' : 'exthdr frag exists'
  const hasMore = family === 'ip' ? '@nh,0,8 != 0x45' : '@nh,48,8 != 17'
  const long = [
    ['low', 'high'],
    ['low_over', 'high_over'],
  ].flatMap((sets) => {
    const one = agree(own, sets)
    return waysAt(place).map(
      (way) => `${way === 'up' ? toCore : fromCore} ${one} goto ${own}_${pathName({ hook, family, way })}`,
    )
  })
  return [
    `@th,72,8 != ${G_PDU} accept`,
    `${inside} accept`,
    `${outside} counter name ${own}_foreign accept`,
    `${isFragment} counter name ${own}_fragments accept`,
    `${hasMore} counter name ${own}_too_long accept`,
    ...long,
    `counter name ${own}_merged accept`,
  ]
}

/** What of the tunnel is counted there. */
function waysAt({ inside }: TapPlace): readonly Way[] {
  return inside.length === 0 ? ['up', 'down'] : ['down']
}

/** Counts what has left the tunnel by its sender, which the UPF has looked at. `left` is for comparison with `offered`. */
function insideRules(own: string): readonly string[] {
  const inners = [4, 6] as const
  return [
    `counter name ${own}_left`,
    ...inners.map((inner) => {
      const set = setName({ way: 'up', inner, before: NOTHING })
      return `@nh,0,4 ${inner} update @${own}_${set} { ${senderFields(inner)} } accept`
    }),
    ...inners.map((inner) => {
      const key = `${senderFields(inner)} . meta length . ${NOTHING}`
      return `@nh,0,4 ${inner} update @${own}_${lateName({ way: 'up', inner })} { ${key} } accept`
    }),
    `@nh,0,4 { 4, 6 } counter name ${own}_no_room accept`,
  ]
}

/** The chains that find the inner packet behind a header of 8 octets, of 12, and of 12 with extensions. */
function writeHeaders(chain: Chain, own: string, place: TapPlace, path: Path): void {
  const name = pathName(path)
  const peers = (header: number, inner: 4 | 6): readonly string[] =>
    path.way === 'up' ? [] : peerRules(own, place, path, header, inner)
  for (const header of HEADERS)
    chain(`${name}_${header}`, [
      ...peers(header, 4).map((rule) => `@th,${gtpBit(header)},4 4 ${rule}`),
      ...peers(header, 6).map((rule) => `@th,${gtpBit(header)},4 6 ${rule}`),
      ...innerRules(own, path, header),
    ])
  // Backwards: each goes to longer ones. `x16`: an extension ends at 16, its last octet says what comes.
  for (let header = LONGEST_HEADER; header >= GTP_LONG_HEADER; header -= 4) {
    const next = [1, 2, 3, 4, 5, 6, 7].filter((units) => header + units * 4 <= LONGEST_HEADER)
    const rules = [
      `@th,${gtpBit(header - 1)},8 0 goto ${own}_${name}_${header}`,
      ...next.map((units) => `@th,${gtpBit(header)},8 ${units} goto ${own}_${name}_x${header + units * 4}`),
    ]
    // An extension without a length is none.
    rules.push(`@th,${gtpBit(header)},8 0 counter name ${own}_malformed accept`)
    rules.push(`counter name ${own}_too_long accept`)
    chain(`${name}_x${header}`, rules)
  }
  const to = (flags: readonly number[], end: string): readonly string[] =>
    flags.map((value) => `${value * 256 + G_PDU} : goto ${own}_${name}_${end}`)
  const first = [...to(SHORT, '8'), ...to(LONG, '12'), ...to(EXTENDED, 'x12')]
  const counted = (header: number): string => countRule(own, path, header, 4, `@th,${gtpBit(header)},8 0x45`)
  const short = `@th,${gtpBit(0)},16 ${USUAL.short * 256 + G_PDU}`
  const extended = `@th,${gtpBit(0)},16 ${USUAL.extended * 256 + G_PDU} ${SESSION_CONTAINER}`
  const isIpv4 = (header: number): string => `@th,${gtpBit(header)},8 0x45`
  chain(name, [
    // What nearly all packets of S1-U and N3 are: compared before the others are looked up.
    ...peers(GTP_HEADER, 4).map((rule) => `${short} ${isIpv4(GTP_HEADER)} ${rule}`),
    `${short} ${counted(GTP_HEADER)}`,
    ...peers(SESSION_HEADER, 4).map((rule) => `${extended} ${isIpv4(SESSION_HEADER)} ${rule}`),
    `${extended} ${counted(SESSION_HEADER)}`,
    `@th,${gtpBit(0)},16 ${USUAL.short * 256 + G_PDU} goto ${own}_${name}_8`,
    `@th,${gtpBit(0)},16 ${USUAL.extended * 256 + G_PDU} goto ${own}_${name}_x12`,
    `@th,${gtpBit(0)},16 ${USUAL.numbered * 256 + G_PDU} goto ${own}_${name}_12`,
    `@th,${gtpBit(0)},16 vmap { ${first.join(', ')} }`,
    `@th,${gtpBit(1)},8 != ${G_PDU} accept`,
    `counter name ${own}_malformed accept`,
  ])
}

/**
 * A PDU session container of four octets with nothing behind it (TS 38.415 §5.5.2, TS 29.281 §5.2.1). Four octets at
 * once, behind a mask: nft loads single ones that lie beside each other together, where the kernel takes longer.
 */
const SESSION_CONTAINER = `@th,${gtpBit(11)},8 0x85 @th,${gtpBit(12)},32 & 0xff0000ff == 0x01000000`
const SESSION_HEADER = 16

function countRule(
  own: string,
  { hook, family, way }: Path,
  header: number,
  inner: 4 | 6,
  match: string,
): string {
  const set = setName({ way, inner, before: octetsBefore(hook, family, header) })
  return `${match} update @${own}_${set} { ${phoneFields(way, header, inner)} } accept`
}

/**
 * Counts by its sender what the core sends to a phone with the address of another: what the UPF has handed on by itself has
 * not left by a TUN interface. The packet then counts for its receiver.
 */
function peerRules(
  own: string,
  place: TapPlace,
  { hook, family }: Path,
  header: number,
  inner: 4 | 6,
): readonly string[] {
  const set = setName({ way: 'peer', inner, before: octetsBefore(hook, family, header) })
  const fields = phoneFields('up', header, inner)
  const at = gtpBit(header) + (inner === 4 ? 96 : 64)
  return poolMatches(place, inner, `@th,${at}`).map((match) => `${match} update @${own}_${set} { ${fields} }`)
}

/** Counts what the kernel sends into the UPF with the address of a phone. A TUN interface has no header of its own. */
function backRules(own: string, place: TapPlace): readonly string[] {
  const links = [
    ['meta oiftype ether', ETHERNET],
    ['meta oiftype != ether', NOTHING],
  ] as const
  return ([4, 6] as const).flatMap((inner) => {
    const at = inner === 4 ? '@nh,96' : '@nh,64'
    return poolMatches(place, inner, at).flatMap((match) =>
      links.map(([link, before]) => {
        const set = setName({ way: 'back', inner, before })
        return `@nh,0,4 ${inner} ${match} ${link} update @${own}_${set} { ${senderFields(inner)} }`
      }),
    )
  })
}

/** That an address at a place is one of the phones'. */
function poolMatches(place: TapPlace, inner: 4 | 6, at: string): readonly string[] {
  return poolsOf(place, inner).map(({ hex, bits }) => {
    const value = BigInt(`0x${hex}`) >> BigInt(hex.length * 4 - bits)
    return `${at},${bits} 0x${value.toString(16)}`
  })
}

function innerRules(own: string, path: Path, header: number): readonly string[] {
  const at = gtpBit(header)
  const before = octetsBefore(path.hook, path.family, header)
  // A counter wants memory that the kernel may not have at hand just then; this wants less.
  const late = ([4, 6] as const).map((inner) => {
    const key = `${phoneFields(path.way, header, inner)} . meta length . ${before}`
    return `@th,${at},4 ${inner} update @${own}_${lateName({ way: path.way, inner })} { ${key} } accept`
  })
  return [
    countRule(own, path, header, 4, `@th,${at},4 4`),
    countRule(own, path, header, 6, `@th,${at},4 6`),
    ...late,
    // Not taken in: the set is full.
    `@th,${at},4 { 4, 6 } counter name ${own}_no_room accept`,
    `counter name ${own}_malformed accept`,
  ]
}

/** Addresses that a set holds. What further ones move is unmatched. */
export const SET_SIZE = 65_536
/** Octets that no address reaches. */
const NEVER_REACHED = '9000000000 mbytes'
/** Packets that are no volume. */
const COUNTERS = ['malformed', 'fragments', 'too_long', 'merged', 'tagged', 'no_room', 'foreign'] as const
/** Of what is counted where it leaves: what was sent into the tunnel, and what came out. */
const INSIDE_COUNTERS = ['offered', 'left'] as const

/** Whether two places have the same rules. */
export function layoutOf(place: TapPlace): string {
  return hash('sha256', generation(place, 0)).slice(0, 16)
}

/** The table with nothing in it. `id` names this life of it. */
export function tableText(table: string, id: string): string {
  return `add table netdev ${table} { comment "${id}"; }`
}

/** Hooks without a rule: `wanted` instead of those that are `present`, which may be on another interface, or on none. */
export function hooksText(table: string, present: readonly string[], wanted: readonly BaseChain[]): string {
  const away = present.flatMap((hook) => [
    `flush chain netdev ${table} ${hook}`,
    `delete chain netdev ${table} ${hook}`,
  ])
  const hooks = wanted.map(
    ({ name, hook, device }) =>
      `add chain netdev ${table} ${name} { type filter hook ${hook} device "${device}" priority 0; policy accept; }`,
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
  /** Packets that left the UPF's TUN interfaces before there was a hook on them: they had come anew. */
  readonly missed: number
}

/** A note from the comment of a rule; undefined for another comment. */
export function noteFrom(comment: string): GenerationNote | undefined {
  const [layout = '', ...numbers] = comment.split(' ')
  // Of a version that did not know of them there are no missed ones.
  const [number = Number.NaN, sinceMs = Number.NaN, began = Number.NaN, ended = Number.NaN, missed = 0] =
    numbers.map(Number)
  return Number.isFinite(number + sinceMs + began + ended + missed)
    ? { number, sinceMs, layout, began, ended, missed }
    : undefined
}

/**
 * Makes a generation and has the hooks count into it, all at one moment: a packet goes through the rules before or through
 * these.
 */
export function generationText(place: TapPlace, note: Omit<GenerationNote, 'layout'>): string {
  const { table } = place
  const { number, sinceMs, began, ended, missed } = note
  const comment = [layoutOf(place), number, sinceMs, began, ended, missed].join(' ')
  const own = `g${number}`
  const rules = baseChains(place).flatMap(({ name, hook }) => [
    `flush chain netdev ${table} ${name}`,
    ...(isInside(name) ? [`goto ${own}_${isBack(name) ? BACK : INSIDE}`] : entry(place, own, hook)).map(
      (rule) => `add rule netdev ${table} ${name} ${rule}`,
    ),
  ])
  return [
    generation(place, note.number),
    `add chain netdev ${table} ${own}_note`,
    `add rule netdev ${table} ${own}_note return comment "${comment}"`,
    ...rules,
  ].join('\n')
}

/** Takes a generation away that no hook counts into any more; it may be one of another version's. */
export function dropText(
  table: string,
  generation: number,
  parts: {
    readonly sets: readonly string[]
    readonly chains: readonly string[]
    readonly packets: ReadonlyMap<string, number>
  },
): string {
  const { sets, chains, packets } = parts
  return [
    // Chains name each other, sets and counters: empty they name nothing.
    ...chains.map((chain) => `flush chain netdev ${table} ${chain}`),
    ...chains.map((chain) => `delete chain netdev ${table} ${chain}`),
    ...sets.map((set) => `delete set netdev ${table} ${set}`),
    ...[...packets.keys()].map((name) => `delete counter netdev ${table} g${generation}_${name}`),
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
  const set = (name: string, text: string): void => {
    lines.push(`add set netdev ${place.table} ${own}_${name} { ${text}; }`)
  }
  const counters = place.inside.length === 0 ? COUNTERS : [...COUNTERS, ...INSIDE_COUNTERS]
  for (const name of counters) lines.push(`add counter netdev ${place.table} ${own}_${name}`)
  for (const [name, pairs] of lengthSets(place.isExact))
    set(name, `typeof ${lengthFields(name)}; flags constant; elements = { ${pairs} }`)
  for (const key of setsOf(place))
    set(setName(key), `${keyType(key.inner)}; size ${SET_SIZE}; flags dynamic; counter`)
  for (const way of ['up', 'down'] as const)
    for (const inner of [4, 6] as const)
      set(
        lateName({ way, inner }),
        `typeof ${phoneFields(way, GTP_HEADER, inner)} . meta length . meta mark; size ${SET_SIZE}; flags dynamic; quota ${NEVER_REACHED}`,
      )
  for (const hook of hooksOf(place.iface)) writeTunnel(chain, place, own, hook)
  if (place.inside.length > 0) chain(INSIDE, insideRules(own))
  if (place.pools.length > 0) chain(BACK, backRules(own, place))
  return lines.join('\n')
}

function writeTunnel(chain: Chain, place: TapPlace, own: string, hook: Hook): void {
  for (const family of ['ip', 'ip6'] as const) {
    if (ends(place, family).length === 0) continue
    for (const way of waysAt(place)) writeHeaders(chain, own, place, { hook, family, way })
    chain(`${hook}_${family}_rest`, rest(place, own, hook, family))
    chain(`${hook}_${family}`, direction(place, own, hook, family))
  }
  chain(`${hook}_tagged`, tagged(own))
}
