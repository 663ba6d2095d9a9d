import {
  type Clock,
  type ComponentHealth,
  type Log,
  messageOf,
  type Principal,
  systemPrincipal,
} from '@steeple/contracts'
import { type RotationOptions, type RotationReport, rotateVault, type Secrets } from '@steeple/secrets'
import { type Database, DISK_IS_FULL, type IntegrityProblem } from '@steeple/store'
import type { Mutations } from '../mutation/mutations.ts'
import type { Scheduler } from '../reconcile/scheduler.ts'
import type { OpenStore } from './open-store.ts'
import type { StoreCheck } from './store-check.ts'

const SWEEP_MS = 600_000
const INTEGRITY_MS = 86_400_000
const CERTIFICATE_MS = 3_600_000
/** How long a failed write shows after small ones hold again: on a full disk those still find room, ms. */
const REFUSED_MS = 6_000

interface HousekeepingOptions {
  readonly store: OpenStore
  readonly check: StoreCheck
  readonly mutations: Mutations
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  readonly scheduler: Scheduler
}

export interface Housekeeping {
  /** Looks at every row and at the file once; the finding shows in `health`. */
  scan(signal: AbortSignal): Promise<void>
  /** The store as a component: whether it answers, and what the last scan found. */
  health(): Promise<readonly ComponentHealth[]>
}

/** Plans the work on `scheduler`: sweeping every 10 min, integrity daily, the node's certificate hourly. */
export function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { store, check, mutations, secrets, clock, log, scheduler } = options
  const { db, auditFinding } = store
  // What the start found is shown until the first scan has looked at all of the trail.
  let finding = auditFinding === undefined ? undefined : `kernel_audit: ${auditFinding}; restore a backup`
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
      // Who writes sees it before the disk is looked at, and on one that still has room for others.
      const isFull = status === 'degraded' && detail.includes(DISK_IS_FULL)
      const incident = isFull ? 'disk_full' : 'store_gone'
      return [{ name: 'store', kind: 'store', status, detail, required: true, incident }]
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
    return messageOf(error)
  }
  return db.writeTrouble()
}

/** Renews the node's own certificate in the second half of its life; not by a clock that is not believed. */
async function renewWhenDue(secrets: Secrets, clock: Clock, log: Log): Promise<void> {
  if (clock.doubt?.() !== undefined) return
  // X.509 writing is needed once in weeks; it stays out of memory until then.
  const { renewNodeCertificate } = await import('@steeple/secrets')
  if (!(await renewNodeCertificate(secrets, clock))) return
  log.info(
    { expires_at: new Date(secrets.identity.certificateExpiresAtMs).toISOString() },
    'node certificate renewed',
  )
}

/** Who rotates, and where it is written down. */
interface AuditedRotation extends RotationOptions {
  readonly mutations: Mutations
  readonly principal?: Principal
}

/**
 * As `rotateVault`, with an entry in the audit trail: which key is in use, which are gone, which had to stay. One that
 * fails or is broken off has an entry too, as far as the store takes it. Nothing to finish: no entry.
 */
export async function rotateVaultAudited(options: AuditedRotation): Promise<RotationReport> {
  const { mutations, vault, principal = systemPrincipal('vault') } = options
  const entry = { principal, action: 'vault.rotate', target: 'vault' }
  const before = vault.keyId
  const hadReplaced = vault.keyring.replaced.length > 0
  let report: RotationReport
  try {
    report = await rotateVault(options)
  } catch (error) {
    const detail = { from: before, to: vault.keyId, reason: 'broken off; run svc vault rotate again' }
    await mutations.refuse({ ...entry, outcome: 'failed', detail }).catch(() => undefined)
    throw error
  }
  const { keyId, resealed, retired, kept } = report
  if (keyId === before && !hadReplaced) return report
  await mutations.run({
    ...entry,
    owner: 'kernel',
    work: async (tx) => {
      tx.audit({ detail: { from: before, to: keyId, resealed, retired: [...retired], kept: kept.length } })
      return { status: 204 }
    },
  })
  return report
}
