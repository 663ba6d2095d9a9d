import { isRecord, validationFailed } from '@steeple/contracts'
import {
  type AddressRange,
  type CoreFilesParts,
  type PlacedDesired,
  parseRange,
  rangeText,
} from '@steeple/southbound'
import { parse } from 'yaml'
import { TUN_DEVICE } from './session-files.ts'

/** A pool of smf.yaml or upf.yaml: which APN its addresses are for; every APN's when it names none. */
export interface Pool {
  readonly subnet: string
  readonly dnn: string | undefined
  /** Both ends of each, with `-` between them; empty: all of the subnet. */
  readonly ranges: readonly string[]
}

/** The pools of a file's text; none in a file of somebody else that is no YAML. */
export function poolsIn(text: string | undefined): readonly Pool[] {
  return sectionsIn(text)
    .flatMap(({ smf, upf }) => [smf, upf])
    .flatMap((section) => (isRecord(section) ? poolsOf(section.session) : []))
}

function sectionsIn(text: string | undefined): readonly Readonly<Record<string, unknown>>[] {
  try {
    const file: unknown = parse(text ?? '')
    return isRecord(file) ? [file] : []
  } catch {
    return []
  }
}

function entriesOf(session: unknown): readonly Readonly<Record<string, unknown>>[] {
  return (Array.isArray(session) ? session : []).map((one: unknown) => (isRecord(one) ? one : {}))
}

/** A network of phones as upf.yaml names it: what of it the TUN device needs. */
export interface TunPool {
  readonly subnet: string
  readonly gateway: string | undefined
  readonly device: string
}

/** The IPv4 networks of upf.yaml's text, each once. */
export function tunPools(text: string | undefined): readonly TunPool[] {
  const entries = sectionsIn(text).flatMap(({ upf }) => (isRecord(upf) ? entriesOf(upf.session) : []))
  const pools = entries.flatMap(({ subnet, gateway, dev }): readonly TunPool[] =>
    typeof subnet === 'string' && familyOf(subnet) === 4
      ? [{ subnet, gateway: textOr(gateway, undefined), device: textOr(dev, TUN_DEVICE) }]
      : [],
  )
  return pools.filter(({ subnet }, at) => pools.findIndex((one) => one.subnet === subnet) === at)
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise
}

/** What gives a TUN device its address of a network, for a person to run. */
export function addressLine({ subnet, gateway, device }: TunPool): string {
  return `ip addr add ${addressIn({ subnet, gateway })} dev ${device}`
}

/** The address of the TUN device in a network, with the prefix: `10.47.0.1/16`. */
export function addressIn({ subnet, gateway }: Pick<TunPool, 'subnet' | 'gateway'>): string {
  const range = parseRange(subnet)
  return `${gateway ?? range?.gateway ?? ''}/${range?.prefix ?? ''}`
}

function poolsOf(session: unknown): readonly Pool[] {
  return entriesOf(session).flatMap(({ subnet, dnn, range }) => {
    if (typeof subnet !== 'string') return []
    return [
      {
        subnet,
        dnn: dnn === undefined || dnn === null ? undefined : String(dnn),
        ranges: (Array.isArray(range) ? range : [range]).filter((part) => typeof part === 'string'),
      },
    ]
  })
}

const FILES = ['smf.yaml', 'upf.yaml']
const LISTS = ['smf.session', 'upf.session']

type Fit = NonNullable<CoreFilesParts['fit']>

/**
 * How pools of the operator's own follow the APNs: each stays as it is, that of an APN that is gone goes, and a new APN gets a
 * range that none of them has. One for any APN serves new ones too.
 */
export const keptPools: Fit = (desired, { core_a }, theirs) => {
  const all = FILES.flatMap((path) => poolsIn(theirs.get(path)))
  return (path, { before, after, found }) => {
    if (!LISTS.includes(path.join('.'))) return undefined
    const [was, is, own] = [poolsOf(before), poolsOf(after), poolsOf(found)]
    const base = parseRange(is[0]?.subnet ?? '')
    // Another core_a.subnet: the pools are to be others.
    if (base === undefined || was[0]?.subnet !== is[0]?.subnet || own.length < found.length) return undefined
    const names = (pools: readonly Pool[]) => new Set(pools.map(({ dnn }) => dnn?.toLowerCase()))
    const [had, has, theirNames] = [names(was), names(is), names(own)]
    const isGone = (dnn: string | undefined): boolean =>
      dnn !== undefined && had.has(dnn.toLowerCase()) && !has.has(dnn.toLowerCase())
    const kept = found.filter((_, at) => !isGone(own[at]?.dnn))
    const isAny = own.some(({ dnn, subnet }) => dnn === undefined && familyOf(subnet) === base.family)
    const added = isAny
      ? []
      : desired.apns.filter((apn) => !had.has(apn.toLowerCase()) && !theirNames.has(apn.toLowerCase()))
    const places = placesBeside(base, all, added, { ...desired, addresses: core_a.addresses })
    const entries = places.map((place) => entryOf(place, found, after))
    return [...kept, ...entries]
  }
}

function familyOf(subnet: string): number | undefined {
  return parseRange(subnet)?.family
}

/** Where a new APN's addresses come from: all of `pool`, or a range in it. */
interface Place {
  readonly dnn: string
  readonly pool: AddressRange
  readonly range: string | undefined
}

/** A range for each APN that no other one has. Throws `validation_failed` where there is none. */
function placesBeside(
  base: AddressRange,
  pools: readonly Pool[],
  added: readonly string[],
  desired: PlacedDesired,
): readonly Place[] {
  const taken = [...pools]
  return added.map((dnn) => {
    const range = rangeIn(base, taken, desired)
    const pool = range === undefined ? networkBeside(base, taken, Object.values(desired.addresses)) : base
    if (pool === undefined)
      throw validationFailed(
        `the pools of the core's files leave no free range for the APN ${dnn}: write one into overlays/smf.yaml and ` +
          'overlays/upf.yaml, or choose another core_a.subnet',
      )
    taken.push({ subnet: rangeText(pool), dnn, ranges: range === undefined ? [] : [range] })
    return { dnn, pool, range }
  })
}

/** A part of the range itself, where the operator's pools leave one. */
function rangeIn(
  base: AddressRange,
  taken: readonly Pool[],
  { apns, maxUes }: PlacedDesired,
): string | undefined {
  for (let count = 2; count <= MOST_PARTS; count *= 2) {
    const { bounds, sessions } = base.parts(count)
    if (sessions < maxUes) return undefined
    if (count < apns.length) continue
    const free = bounds.find(({ low, high }) => !taken.some((pool) => touches(pool, low, high)))
    if (free !== undefined) return `${free.low}-${free.high}`
  }
  return undefined
}

const MOST_PARTS = 1_024

/** Whether a pool has an address between these, both included. */
function touches({ subnet, ranges }: Pool, low: string, high: string): boolean {
  const pool = parseRange(subnet)
  const [from, to] = [singleOf(low), singleOf(high)]
  if (pool === undefined || from === undefined || to === undefined || pool.family !== from.family)
    return false
  const spans = ranges.map((range) => range.split('-').map((end) => singleOf(end.trim())))
  const isWhole =
    spans.length === 0 || spans.some(([first, last]) => first === undefined || last === undefined)
  if (isWhole) return pool.low <= to.low && pool.high >= from.low
  return spans.some(([first, last]) => (first?.low ?? 0n) <= to.low && (last?.low ?? 0n) >= from.low)
}

function singleOf(address: string): AddressRange | undefined {
  return parseRange(`${address}/${address.includes(':') ? 128 : 32}`)
}

/** What IPv4 has for networks of one's own. RFC 1918 §3, RFC 6598 §7. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']
const MOST_STEPS = 4_096

/** The first network of the same size behind the range in which nobody has an address. */
function networkBeside(
  base: AddressRange,
  taken: readonly Pool[],
  addresses: readonly string[],
): AddressRange | undefined {
  const isPrivate = ({ network }: AddressRange, block: string): boolean =>
    parseRange(block)?.has(network) === true
  const home = PRIVATE.find((block) => isPrivate(base, block))
  let next = base.next()
  for (let step = 0; step < MOST_STEPS && next !== undefined; step += 1) {
    const { low, high, family } = next
    const isInside = family === 6 || (home !== undefined && isPrivate(next, home))
    if (!isInside) return undefined
    const isTaken = taken.some(({ subnet }) => {
      const pool = parseRange(subnet)
      return pool?.family === family && pool.low <= high && pool.high >= low
    })
    const now = next
    if (!isTaken && !addresses.some((address) => now.has(address))) return next
    next = next.next()
  }
  return undefined
}

/** The entry for a file: with gateway and device of the operator's for that network, where there is one. */
function entryOf({ dnn, pool, range }: Place, found: readonly unknown[], after: readonly unknown[]): object {
  const subnet = rangeText(pool)
  const beside = found.filter(isRecord).find((one) => one.subnet === subnet)
  const { dev } = after.find(isRecord) ?? {}
  return {
    subnet,
    gateway: beside?.gateway ?? pool.gateway,
    dnn,
    ...(range === undefined ? {} : { range: [range] }),
    ...(dev === undefined ? {} : { dev: beside?.dev ?? dev }),
  }
}

/** What becomes of the addresses of APNs, for people; nothing where there were none before. */
export function poolNotes(before: readonly Pool[], after: readonly Pool[]): readonly string[] {
  if (before.length === 0) return []
  const words = ({ subnet, ranges }: Pool): string => (ranges.length === 0 ? subnet : ranges.join(', '))
  const of = (pools: readonly Pool[], pool: Pool): string =>
    pools
      .filter(({ dnn }) => dnn === pool.dnn)
      .map(words)
      .join(', ')
  const moved = after.flatMap((pool) => {
    if (pool.dnn === undefined || of(before, pool) === of(after, pool)) return []
    const from = of(before, pool)
    return from === ''
      ? [`the APN ${pool.dnn} gets addresses of ${of(after, pool)}`]
      : [`the addresses of the APN ${pool.dnn} move from ${from} to ${of(after, pool)}`]
  })
  const gone = before.flatMap((pool) =>
    pool.dnn === undefined || of(after, pool) !== ''
      ? []
      : [`the APN ${pool.dnn} loses its addresses ${words(pool)}`],
  )
  const fresh = after.filter(({ subnet }) => !before.some((pool) => pool.subnet === subnet))
  const routes = fresh.map(
    ({ subnet }) =>
      `${subnet} is a new network, and the TUN device of the UPF needs an address of it. Where the service may, it adds it. Otherwise run ` +
      `on the machine of the UPF: ${addressLine({ subnet, gateway: undefined, device: TUN_DEVICE })}`,
  )
  return [...new Set([...moved, ...gone, ...routes])]
}
