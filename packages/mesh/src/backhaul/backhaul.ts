import { type ComponentHealth, type Context, sectionOf, sumOctets } from '@steeple/contracts'
import { type KernelRoute, kernelRoutes } from '../breakout/routing-table.ts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { MeshPart } from '../part.ts'
import { backhaulRoute } from './route.ts'
import { addTo, type MonthRow, newestMonths } from './store.ts'
import { type Uplink, uplinkNames, uplinkOf } from './uplinks.ts'

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
): Promise<MeshPart> {
  const { clock, db } = context
  const gauge = context.metrics.gauge(METRIC, 'Octets over the uplinks this month, by direction.', [
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
