import { createHash } from 'node:crypto'
import {
  backRules,
  type Chain,
  direction,
  entry,
  insideRules,
  rest,
  tagged,
  waysAt,
  writeHeaders,
} from './chains.ts'
import { GTP_HEADER, keyType, lateName, phoneFields, setName, setsOf } from './keys.ts'
import { lengthFields, lengthSets } from './lengths.ts'
import {
  BACK,
  type BaseChain,
  baseChains,
  ends,
  type Hook,
  hooksOf,
  INSIDE,
  isBack,
  isInside,
  type TapPlace,
} from './place.ts'

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
  return createHash('sha256').update(generation(place, 0)).digest('hex').slice(0, 16)
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
