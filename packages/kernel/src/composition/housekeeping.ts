import type { Clock, ComponentHealth, Log } from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import type { Database, IntegrityProblem } from '@steeple/store'
import type { Mutations } from '../mutation/mutations.ts'
import type { Scheduler } from '../reconcile/scheduler.ts'
import type { StoreCheck } from './store-check.ts'

const SWEEP_MS = 600_000
const INTEGRITY_MS = 86_400_000
const CERTIFICATE_MS = 3_600_000
/** How long a failed write shows after small ones hold again: on a full disk those still find room, ms. */
const REFUSED_MS = 6_000

/** What the kernel's own periodic work needs. */
export interface HousekeepingOptions {
  readonly db: Database
  readonly check: StoreCheck
  readonly mutations: Mutations
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  readonly scheduler: Scheduler
  /** What the start found wrong with the audit trail: shown until the first scan has looked at all of it. */
  readonly auditFinding: string | undefined
}

/** The kernel's own periodic work. */
export interface Housekeeping {
  /** Looks at every row and at the file once; the finding shows in `health`. */
  scan(signal: AbortSignal): Promise<void>
  /** The store as a component: whether it answers, and what the last scan found. */
  health(): Promise<readonly ComponentHealth[]>
}

/** Plans the work on `scheduler`: sweeping every 10 min, integrity daily, the node's certificate hourly. */
export function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { db, check, mutations, secrets, clock, log, scheduler } = options
  let finding =
    options.auditFinding === undefined ? undefined : `kernel_audit: ${options.auditFinding}; restore a backup`
  let refused = { count: 0, untilMs: 0 }
  const lately = (): string | undefined => {
    const { count, last } = db.writeFailures()
    if (count > refused.count) refused = { count, untilMs: clock.nowMs() + REFUSED_MS }
    return clock.nowMs() < refused.untilMs ? `writes have just failed: ${last}` : undefined
  }
  let scannedMs = Number.NEGATIVE_INFINITY
  const scan = async (signal: AbortSignal): Promise<void> => {
    scannedMs = clock.monotonicMs()
    const problems = await check.run(signal)
    const first = problems[0]
    finding =
      first === undefined
        ? undefined
        : `${problems.length} problem(s) in ${tablesOf(problems)}, the first: ${first.reason}; restore a backup`
  }
  scheduler.every(SWEEP_MS, () => mutations.sweep())
  scheduler.every(INTEGRITY_MS, async (signal) => {
    // What wakes schedules is no reason to read the whole store again.
    if (clock.monotonicMs() - scannedMs >= INTEGRITY_MS / 2) await scan(signal)
  })
  scheduler.every(CERTIFICATE_MS, () => renewWhenDue(secrets, clock, log), 'each')
  return {
    scan,
    health: async () => {
      const silence = await db.probe()
      const recent = lately()
      const refusal = (await refusalOf(db)) ?? recent
      const isDown = silence !== undefined || finding !== undefined
      const status = isDown ? 'down' : refusal === undefined ? 'ok' : 'degraded'
      const under = check.progress()
      const detail =
        silence ?? finding ?? refusal ?? `${db.dialect} answers${under === undefined ? '' : `; ${under}`}`
      return [{ name: 'store', kind: 'store', status, detail, required: true }]
    },
  }
}

function tablesOf(problems: readonly IntegrityProblem[]): string {
  return [...new Set(problems.map(({ table }) => table))].join(', ')
}

/** Written and taken back, so that it costs the store a page and leaves no row. */
const TRY_WRITE = `insert into kernel_rate (name, started_at_ms, used, row_sum) values ('trying to write', 0, 0, 0)`
const TAKE_BACK = `delete from kernel_rate where name = 'trying to write'`

/** Why the store takes no writes; undefined when it does. Where the last one failed another is tried. */
async function refusalOf(db: Database): Promise<string | undefined> {
  if (db.writeTrouble() === undefined) return undefined
  try {
    await db.transact(async (tx) => {
      await tx.run(TRY_WRITE)
      await tx.run(TAKE_BACK)
    })
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return db.writeTrouble()
}

/** Renews the node's own certificate in the second half of its life; not by a clock that is not believed. */
export async function renewWhenDue(secrets: Secrets, clock: Clock, log: Log): Promise<void> {
  if (clock.doubt?.() !== undefined) return
  // X.509 writing is needed once in weeks; it stays out of memory until then.
  const { renewNodeCertificate } = await import('@steeple/secrets')
  if (!(await renewNodeCertificate(secrets, clock))) return
  log.info(
    { expires_at: new Date(secrets.identity.certificateExpiresAtMs).toISOString() },
    'node certificate renewed',
  )
}
