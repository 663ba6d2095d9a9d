import { readFile } from 'node:fs/promises'
import {
  type ComponentHealth,
  type Context,
  type Instance,
  type KernelRoute,
  kernelRoutes,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  sectionOf,
  sumOctets,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import { isDefault } from '../peers/cidr.ts'
import { addTo, type MonthRow, newestMonths } from './store.ts'

/** Years back are of the same shape, and nobody pays for them any more. */
const MOST_MONTHS = 120
const SOME_MONTHS = 12
const OCTETS = { type: 'integer', minimum: 0 } as const

const MONTH = recordSchema({
  month: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$', description: 'By the time zone of the box.' },
  received_bytes: OCTETS,
  sent_bytes: OCTETS,
  total_bytes: OCTETS,
  from: {
    ...TIMESTAMP_SCHEMA,
    description: 'Since when it was counted: later than its first day when it began within it.',
  },
  until: { ...TIMESTAMP_SCHEMA, description: 'When it was last counted.' },
})
const SCHEMA = recordSchema({
  interfaces: {
    type: 'array',
    items: { type: 'string' },
    description: 'Those that have a default route now and are counted; not that of the mesh.',
  },
  cap_bytes: {
    type: ['integer', 'null'],
    description: 'What may be carried in a month, peering.backhaul_cap_bytes; null when nothing is said.',
  },
  months: {
    type: 'array',
    items: MONTH,
    description: 'Newest first; without those in which nothing was counted.',
  },
})

/** `GET /v1/mesh/backhaul`. `names`: interfaces that are counted now. */
function backhaulRoute(
  { db, config }: Pick<Context<PeeringConfig>, 'db' | 'config'>,
  names: () => readonly string[],
): Route {
  return route<unknown, { readonly months?: number }, unknown>({
    method: 'GET',
    path: '/v1/mesh/backhaul',
    role: 'viewer',
    summary: "Show the traffic on this machine's way to the internet, by month",
    description:
      'All bytes of the interfaces with a default route, as the kernel counts them each minute: phones, other boxes and ' +
      'the machine itself.',
    schema: {
      query: objectSchema({
        months: { type: 'integer', minimum: 1, maximum: MOST_MONTHS, default: SOME_MONTHS },
      }),
      response: SCHEMA,
    },
    errors: ['store_corrupt'],
    handle: async ({ query: { months = SOME_MONTHS } }) => {
      const rows = await newestMonths(db, months)
      return ok({
        interfaces: names(),
        cap_bytes: config.backhaul_cap_bytes || null,
        months: rows.map((row) => ({
          month: row.month,
          received_bytes: row.received_bytes,
          sent_bytes: row.sent_bytes,
          total_bytes: sumOctets(row.received_bytes, row.sent_bytes),
          from: timestampFromMs(row.from_ms),
          until: timestampFromMs(row.until_ms),
        })),
      })
    },
  })
}

/** What tests put in place of the machine. */
export interface BackhaulSeams {
  readonly routes?: () => Promise<readonly KernelRoute[]>
  readonly uplink?: (name: string) => Promise<Uplink | undefined>
}

/** A write each, of two rows; what is lost with the machine is a minute's. */
const LOOK_MS = 60_000
const METRIC = 'svc_mesh_backhaul_month_bytes'

/** Counts by month what this machine's own ways out carry: what its provider counts. */
export async function backhaul(
  context: Context<PeeringConfig>,
  links: Pick<Links, 'device'>,
  seams: BackhaulSeams = {},
): Promise<Instance> {
  const { clock, db } = context
  const gauge = context.metrics.gauge(METRIC, 'Bytes over the uplinks this month, by direction.', [
    'direction',
  ])
  let names: readonly string[] = []
  let latest: MonthRow | undefined
  const look = async (): Promise<void> => {
    names = uplinkNames(await (seams.routes ?? kernelRoutes)(), links.device())
    const seen = await Promise.all(names.map(seams.uplink ?? ((name) => uplinkOf(name))))
    const uplinks = seen.filter((uplink) => uplink !== undefined)
    if (uplinks.length === 0) return
    const nowMs = clock.nowMs()
    const zone = sectionOf(context.settings, 'fairuse').time_zone
    // No month begins by a clock that is not believed.
    const [newest] = clock.doubt?.() === undefined ? [] : await newestMonths(db, 1)
    const month = newest?.month ?? monthOf(nowMs, zone)
    latest = await db.write((tx) => addTo(tx, month, uplinks, nowMs))
    gauge.set(latest.received_bytes, { direction: 'received' })
    gauge.set(latest.sent_bytes, { direction: 'sent' })
  }
  return {
    routes: [backhaulRoute(context, () => names)],
    start: async () => {
      context.every(LOOK_MS, look, 'machine')
      await look().catch((error) => context.log.warn({ err: error }, 'backhaul not counted'))
    },
    health: async () => healthOf(context.config.backhaul_cap_bytes, latest),
  }
}

/** The local month of a time, as `2026-11`. `zone`: IANA name; that of the machine when it is empty or absent. */
export function monthOf(atMs: number, zone: string | undefined): string {
  if (zone === undefined || zone === '') return machineMonthOf(new Date(atMs))
  const format = new Intl.DateTimeFormat('en', {
    year: 'numeric',
    month: '2-digit',
    calendar: 'gregory',
    timeZone: zone,
  })
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  return `${parts.get('year')}-${parts.get('month')}`
}

/** Each start asks this, and `Intl` would load what it knows of languages for it. */
function machineMonthOf(at: Date): string {
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}`
}

/** Nobody has to hear of it where there is no limit. */
function healthOf(cap: number, latest: MonthRow | undefined): readonly ComponentHealth[] {
  if (cap === 0 || latest === undefined) return []
  const used = sumOctets(latest.received_bytes, latest.sent_bytes)
  const share = Math.floor((used / cap) * 100)
  return [
    {
      name: 'backhaul',
      kind: 'feature',
      status: used < cap ? 'ok' : 'degraded',
      detail: `${share} % of what the way out may carry in ${latest.month}`,
    },
  ]
}

/** An interface with a default route, and what the kernel has counted on it. */
export interface Uplink {
  readonly name: string
  /** Another one when the counters began anew: the machine was started, or the interface was made again. */
  readonly since: string
  /** Octets, with the headers of the link. */
  readonly receivedBytes: number
  readonly sentBytes: number
}

/** The interfaces by which this machine gets out, but for that of the mesh: what goes through it leaves by one of the others. */
export function uplinkNames(
  routes: readonly KernelRoute[],
  meshDevice: string | undefined,
): readonly string[] {
  const names = routes.flatMap(({ network, device }) =>
    isDefault(network) && device !== meshDevice ? [device] : [],
  )
  return [...new Set(names)].toSorted()
}

/** Reads the counters of an interface; undefined when it is gone. sysfs, `Documentation/ABI/testing/sysfs-class-net-statistics`. */
export async function uplinkOf(name: string, sys = '/sys', proc = '/proc'): Promise<Uplink | undefined> {
  const folder = `${sys}/class/net/${name}`
  const [boot, index, received, sent] = await Promise.all([
    lineOf(`${proc}/sys/kernel/random/boot_id`),
    lineOf(`${folder}/ifindex`),
    lineOf(`${folder}/statistics/rx_bytes`),
    lineOf(`${folder}/statistics/tx_bytes`),
  ])
  if (!/^\d+$/.test(received) || !/^\d+$/.test(sent)) return undefined
  return { name, since: `${boot} ${index}`, receivedBytes: Number(received), sentBytes: Number(sent) }
}

async function lineOf(path: string): Promise<string> {
  return (await readFile(path, 'latin1').catch(() => '')).trim()
}
