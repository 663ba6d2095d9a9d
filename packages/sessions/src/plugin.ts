import {
  type ComponentHealth,
  type Context,
  collectionConsumerRef,
  type Instance,
  msFromDuration,
  type Plugin,
  sectionOf,
  sessionHistoryRef,
  timestampFromMs,
  usageLedgerRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { createCollectionConsumer } from './collection-consumer.ts'
import { sourceOrder } from './ledger/counting.ts'
import { localHours } from './ledger/hours.ts'
import { ledgerWriter } from './ledger/ledger.ts'
import { sessionMetrics } from './metrics.ts'
import { MIGRATIONS } from './migrations.ts'
import { prune } from './retention.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { usageRoutes } from './routes/usage-route.ts'
import { sessionHistory } from './store/session-store.ts'
import { SOURCES, TABLES } from './store/tables.ts'
import { intervalMs, type SourceTimes, usageLedger } from './usage-ledger.ts'

/** Configuration at `sessions`. Durations as written. */
export interface SessionsConfig {
  /** Sources from the one whose octets count first; those that are not named come behind, submissions last. */
  readonly source_order: readonly string[]
  /** How long octets of an address that nobody is known to hold wait for its holder. */
  readonly unattributed_after: string
}

const LATE_AFTER = 4
const DAY_MS = 86_400_000

/** Whether what is known of sessions is of now. A source that does not answer ends no session, but that is said. */
function sessionHealth(context: Context, times: SourceTimes): ComponentHealth {
  const base = { name: 'sessions', kind: 'feature' } as const
  if (sectionOf(context.settings, 'collector').enabled !== true)
    return { ...base, status: 'ok', detail: 'collector.enabled is false: nobody looks for sessions' }
  const nowMs = context.clock.nowMs()
  const lateMs = LATE_AFTER * intervalMs(context)
  const sources = times.rows.filter(({ at_ms: atMs }) => nowMs - atMs < DAY_MS)
  const late = sources.filter(({ at_ms: atMs }) => nowMs - atMs > lateMs)
  if (late.length > 0) {
    const words = late.map(({ source, at_ms: atMs }) => `${source} since ${timestampFromMs(atMs)}`)
    return {
      ...base,
      status: 'degraded',
      detail: `not all was seen: ${words.join(', ')}; what was not is shown as it was then`,
    }
  }
  const names = sources.map(({ source }) => source)
  return {
    ...base,
    status: 'ok',
    detail: names.length === 0 ? 'no source yet' : `heard of: ${names.join(', ')}`,
  }
}

const DEFAULT_HELD_MS = 5 * 60_000
const PRUNE_MS = 3_600_000
const RECOUNT_MS = 30_000

/** Who is online, how much each one used: joins what all collectors see. */
export const plugin: Plugin<SessionsConfig> = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context: Context<SessionsConfig>): Promise<Instance> => {
    const order = sourceOrder(context.config.source_order)
    // Periods of quotas begin with an hour of the ledger.
    const hours = localHours(sectionOf(context.settings, 'fairuse').time_zone || undefined)
    const ledger = ledgerWriter(hours, order)
    const metrics = sessionMetrics(context.metrics, {
      plmn: formatPlmn(context.settings.plmn),
      apns: context.settings.apns,
    })
    const times: SourceTimes = { rows: [] }
    const look = async (): Promise<void> => {
      times.rows = await SOURCES.select(context.db, '')
      await metrics.recount(context.db)
    }
    await look()
    const consumer = createCollectionConsumer({
      context,
      ledger,
      metrics,
      intervalMs: intervalMs(context),
      heldForMs: msFromDuration(context.config.unattributed_after) ?? DEFAULT_HELD_MS,
      counted: (sources) => {
        times.rows = [...sources.values()]
      },
    })
    const usage = usageLedger(context, hours, ledger, times)
    return {
      services: new Map<string, object>([
        [collectionConsumerRef.id, consumer],
        [sessionHistoryRef.id, sessionHistory(context, order)],
        [usageLedgerRef.id, usage],
      ]),
      routes: [...sessionRoutes(context, order), ...usageRoutes({ context, order, hours, ledger: usage })],
      start: async () => {
        context.every(PRUNE_MS, (signal) => prune(context, signal))
        context.every(RECOUNT_MS, look, 'each')
      },
      health: async () => [sessionHealth(context, times)],
    }
  },
}
