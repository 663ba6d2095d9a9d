import type { AuditTrail, Log, TableSpec } from '@steeple/contracts'
import {
  type Database,
  gentlePace,
  type IntegrityProblem,
  type ScanMemory,
  type ScanPosition,
  scanIntegrity,
} from '@steeple/store'
import type { PacedAuditTrail } from '../audit/audit-trail.ts'
import type { KernelMetrics } from '../telemetry/metrics.ts'

interface StoreCheckOptions {
  readonly db: Database
  readonly audit: PacedAuditTrail
  readonly memory: ScanMemory
  readonly metrics: KernelMetrics
  readonly log: Log
  /** The checksummed tables of all live plugins. */
  readonly tables: () => readonly TableSpec[]
}

/** The check of every row, of the audit trail and of the file, beside the service's work. */
export interface StoreCheck {
  /** Looks at all there is once, and gives what is wrong. Goes on where one before was cut off. */
  run(signal: AbortSignal): Promise<readonly IntegrityProblem[]>
  /** How far the check is that is under way; undefined when none is. */
  progress(): string | undefined
}

/**
 * The share of a core that the check counts of the service's own thread; with what it takes to wake for each piece it is no
 * more than a tenth.
 */
const SHARE = 1 / 16
/** How often it is written down how far the check is, ms. */
const REMEMBER_MS = 5_000

/** The part of a check that is under way. */
interface ScanProgress {
  readonly part: string
  readonly rows: number
}

/** The check over the store; its state is remembered beside the store. */
export function createStoreCheck(options: StoreCheckOptions): StoreCheck {
  const { db, audit, memory, log, tables } = options
  let progress: ScanProgress | undefined
  let whole = memory.read().rows
  observe(options.metrics, () => ({ progress, whole }))

  const remember = createRemember(memory, () => whole)

  return {
    progress: () => (progress === undefined ? undefined : progressOf(progress, whole)),
    run: async (signal) => {
      const pace = gentlePace(signal, SHARE)
      const { position: from } = memory.read()
      progress = { part: from?.table ?? '', rows: from?.rows ?? 0 }
      try {
        const report = await scanIntegrity(db, tables(), signal, {
          pace,
          ...(from === undefined ? {} : { from }),
          onPiece: (position, problems) => {
            progress = { part: position.table, rows: position.rows }
            remember.note(problems.length === 0 ? position : undefined)
          },
        })
        progress = { part: 'the audit trail', rows: report.rows }
        const problems = [...report.problems, ...(await auditProblems(audit, pace))]
        whole = report.rows
        remember.note(undefined)
        if (problems.length === 0) log.info({ rows: report.rows }, 'store integrity checked')
        else log.error({ problems: problems.slice(0, 20) }, 'store is damaged')
        return problems
      } finally {
        remember.flush()
        progress = undefined
      }
    },
  }
}

/** Writes down now and then where the check is; undefined once something was found, so that a restart finds it again. */
function createRemember(memory: ScanMemory, rows: () => number | undefined) {
  let writtenMs = performance.now()
  let noted: { readonly position: ScanPosition | undefined } | undefined
  const flush = (): void => {
    if (noted === undefined) return
    const before = rows()
    const { position } = noted
    noted = undefined
    writtenMs = performance.now()
    memory.write({
      ...(position === undefined ? {} : { position }),
      ...(before === undefined ? {} : { rows: before }),
    })
  }
  return {
    note: (position: ScanPosition | undefined): void => {
      noted = { position }
      if (performance.now() - writtenMs >= REMEMBER_MS) flush()
    },
    flush,
  }
}

function progressOf({ part, rows }: ScanProgress, whole: number | undefined): string {
  const share = whole === undefined || whole === 0 ? '' : ` of about ${inThousands(whole)}`
  return `the check of the store is at ${part}: ${inThousands(rows)}${share} rows`
}

/** `1,234,567`. Each start says this, and `toLocaleString` looks through all languages first. */
function inThousands(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

function observe(
  metrics: KernelMetrics,
  look: () => { readonly progress: ScanProgress | undefined; readonly whole: number | undefined },
): void {
  metrics.observed(
    'svc_kernel_store_check_rows',
    'Rows that the running check of the store has read. 0: no check runs.',
    [],
    (set) => {
      set(look().progress?.rows ?? 0)
    },
  )
  metrics.observed(
    'svc_kernel_store_checked_rows',
    'Rows of the last complete check of the store. 0: there was none yet.',
    [],
    (set) => {
      set(look().whole ?? 0)
    },
  )
}

/** The trail has its own check. */
async function auditProblems(
  audit: PacedAuditTrail,
  pace: Parameters<PacedAuditTrail['verifyGently']>[0],
): Promise<readonly IntegrityProblem[]> {
  const problem = (key: IntegrityProblem['key'], reason: string): readonly IntegrityProblem[] => [
    { table: 'kernel_audit', key, reason },
  ]
  let verdict: Awaited<ReturnType<AuditTrail['verify']>>
  try {
    verdict = await audit.verifyGently(pace)
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    return problem(undefined, `the trail cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const { ok, firstBroken, reason } = verdict
  if (ok) return []
  return problem(
    firstBroken === undefined ? undefined : { seq: firstBroken },
    reason ?? 'the chain is broken',
  )
}
