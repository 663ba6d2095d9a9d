import type { Clock, ComponentHealth, Log, TableSpec } from '@steeple/contracts'
import type { Mutations } from '../mutation/mutations.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Secrets } from '../secrets/open-secrets.ts'
import type { Database } from '../store/database.ts'
import { scanIntegrity } from '../store/integrity.ts'

const SWEEP_MS = 600_000
const INTEGRITY_MS = 86_400_000
const CERTIFICATE_MS = 3_600_000

/** What the kernel's own periodic work needs. */
export interface HousekeepingOptions {
  readonly db: Database
  readonly mutations: Mutations
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  readonly scheduler: Scheduler
  /** The checksummed tables of all live plugins. */
  readonly tables: () => readonly TableSpec[]
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
  const { db, mutations, secrets, clock, log, scheduler, tables } = options
  let finding: string | undefined
  const scan = async (signal: AbortSignal): Promise<void> => {
    const report = await scanIntegrity(db, tables(), signal)
    const first = report.problems[0]
    finding =
      first === undefined
        ? undefined
        : `${report.problems.length} problem(s), the first in ${first.table}: ${first.reason}; restore a backup`
    if (report.ok) log.info({ rows: report.rows }, 'store integrity checked')
    else log.error({ problems: report.problems.slice(0, 20) }, 'store is damaged')
  }
  scheduler.every(SWEEP_MS, () => mutations.sweep())
  scheduler.every(INTEGRITY_MS, scan)
  scheduler.every(CERTIFICATE_MS, () => renewWhenDue(secrets, clock, log))
  return {
    scan,
    health: async () => {
      const silence = await db.probe()
      const status = silence === undefined && finding === undefined ? 'ok' : 'down'
      const detail = silence ?? finding ?? `${db.dialect} answers`
      return [{ name: 'store', kind: 'store', status, detail, required: true }]
    },
  }
}

/** Renews the node's own certificate in the second half of its life. */
export async function renewWhenDue(secrets: Secrets, clock: Clock, log: Log): Promise<void> {
  // X.509 writing is needed once in weeks; it stays out of memory until then.
  const { renewNodeCertificate } = await import('../secrets/renew-certificate.ts')
  if (!(await renewNodeCertificate(secrets, clock))) return
  log.info(
    { expires_at: new Date(secrets.identity.certificateExpiresAtMs).toISOString() },
    'node certificate renewed',
  )
}
