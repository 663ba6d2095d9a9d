import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { promisify } from 'node:util'
import { type ClockJudge, defineTable, type Log, systemPrincipal, type Table } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import type { Mutations } from '../mutation/mutations.ts'
import {
  type Doubt,
  doubtText,
  type JudgedClock,
  START_TOLERANCE_MS,
  TOLERANCE_MS,
  timeText,
} from './judged-clock.ts'

/** What the machine knows of time beside its wall clock. */
export interface Machine {
  /** Another after each boot; undefined where the system does not say. */
  readonly bootId: string | undefined
  /** Ms since the boot, sleep included. */
  upMs(): number
  /** Whether something like NTP keeps the clock right now; undefined where that cannot be seen. */
  isSynchronised(): Promise<boolean | undefined>
}

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'
const ASK_LIMIT_MS = 2_000

export function thisMachine(): Machine {
  return { bootId: bootId(), upMs: () => uptime() * 1_000, isSynchronised }
}

function bootId(): string | undefined {
  try {
    return readFileSync(BOOT_ID_FILE, 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * Whether something like NTP keeps the machine's clock, as timedatectl says (the kernel's own state of synchronisation);
 * undefined on a machine without it.
 */
export async function isSynchronised(): Promise<boolean | undefined> {
  try {
    const args = ['show', '--property=NTPSynchronized', '--value']
    const { stdout } = await promisify(execFile)('timedatectl', args, { timeout: ASK_LIMIT_MS })
    const said = stdout.trim()
    return said === '' ? undefined : said === 'yes'
  } catch {
    return undefined
  }
}

/** What a node remembers of its time over a restart. */
interface ClockRow {
  readonly node_id: string
  /** The service's time when this was written. */
  readonly at_ms: number
  /** The boot of the machine, and how long it was up then. */
  readonly boot_id: string | null
  readonly up_ms: number
  /** The last step that was believed. */
  readonly step_at_ms: number | null
  readonly step_by_ms: number | null
}

const CLOCK_TABLE = 'kernel_clock'
export const CLOCK_DDL: string = `create table ${CLOCK_TABLE} (node_id text not null primary key, at_ms bigint not null,
    boot_id text, up_ms bigint not null, step_at_ms bigint, step_by_ms bigint, row_sum bigint not null)`
/** One that fails its checksum is as good as none: the next write replaces it. */
export const CLOCK: Table<ClockRow> = defineTable(
  CLOCK_TABLE,
  ['node_id', 'at_ms', 'boot_id', 'up_ms', 'step_at_ms', 'step_by_ms'],
  ['node_id'],
)

const NEWEST_ENTRY = 'select at_ms from kernel_audit order by seq desc limit 1'

/** Where it is written down that the clock came into doubt and out of it. */
type ClockAudit = Pick<Mutations, 'run'>

/** A time before which the machine's clock cannot be right, and what it is the time of. */
export interface Earliest {
  readonly ms: number
  readonly of: string
}

export interface ClockKeeperOptions {
  readonly clock: JudgedClock
  readonly machine: Machine
  readonly db: Database
  readonly nodeId: string
  readonly log: Log
  readonly earliest: readonly Earliest[]
  /** Told when the service's time has leapt, is believed again, or the machine has slept: what was not due may be. */
  readonly moved: () => void
}

/** Remembers the service's time over restarts and settles doubts that something else than its own past can settle. */
export interface ClockKeeper extends ClockJudge {
  /** Measures the machine's clock against what was remembered. Once, before anything acts by time. */
  atStart(): Promise<void>
  /** Looks for what settles a doubt, and records when one begins or ends. */
  review(mutations: ClockAudit): Promise<void>
  /** Writes down what a start will measure against. */
  save(): Promise<void>
}

/**
 * What keeps a clock (NTP) is believed about so long a leap and no longer: a box that was off for a month comes back
 * by itself, one whose time source has gone mad waits for somebody.
 */
const SYNCHRONISED_LIMIT_MS = 31 * 86_400_000
/** A doubt is put to `timedatectl` no oftener. */
const ASK_MS = 30_000
/** Sleep that is shorter than this is the tolerance's business. */
const LEAST_SLEEP_MS = 1_000

/** Makes the keeper; nothing is read before `atStart`. */
export function createClockKeeper(options: ClockKeeperOptions): ClockKeeper {
  const { clock, machine, db, nodeId, log, earliest, moved } = options
  const awake = (): number => machine.upMs() - clock.monotonicMs()
  let asleepMs = awake()
  const isKept = keptClock(options)

  const save = async (): Promise<void> => {
    const step = clock.lastStep()
    const row: ClockRow = {
      node_id: nodeId,
      at_ms: Math.round(clock.nowMs()),
      boot_id: machine.bootId ?? null,
      up_ms: Math.round(machine.upMs()),
      step_at_ms: step === undefined ? null : Math.round(step.atMs),
      step_by_ms: step === undefined ? null : Math.round(step.byMs),
    }
    await db.transact((tx) => CLOCK.put(tx, row))
  }
  const believe = (why: string): void => {
    const { byMs } = clock.believe()
    log.info({ now: timeText(clock.nowMs()), step_ms: Math.round(byMs), why }, 'the clock is believed')
    moved()
  }
  const noticeSleep = (): void => {
    const sleptMs = awake() - asleepMs
    if (sleptMs < LEAST_SLEEP_MS) return
    clock.slept(sleptMs)
    asleepMs += sleptMs
    moved()
  }
  const told = doubtRecord(options, save)
  let wasDoubted = false

  return {
    atStart: async () => {
      const row = await CLOCK.find(db, { node_id: nodeId }).catch((error: unknown) => {
        log.warn({ err: error }, 'the time of the last commit is not known')
        return undefined
      })
      if (row !== undefined && row.step_at_ms !== null && row.step_by_ms !== null)
        clock.recallStep({ atMs: row.step_at_ms, byMs: row.step_by_ms })
      const newest = row ?? (await db.get<Pick<ClockRow, 'at_ms'>>(NEWEST_ENTRY).catch(() => undefined))
      const lastMs = newest?.at_ms
      const bounds = lastMs === undefined ? earliest : [...earliest, { ms: lastMs, of: 'the last commit' }]
      const latest = bounds.toSorted((a, b) => b.ms - a.ms)[0]
      const aheadMs = row === undefined ? Number.POSITIVE_INFINITY : START_TOLERANCE_MS
      if (latest !== undefined && clock.wallMs() < latest.ms - TOLERANCE_MS)
        clock.expect({ expectedMs: latest.ms, aheadMs, from: latest.of })
      else if (row !== undefined) clock.expect(expectationOf(row, machine))
    },
    review: async (mutations) => {
      noticeSleep()
      const doubt = clock.doubtful()
      if (doubt !== undefined && (await isKept(doubt))) believe('the machine keeps its clock synchronised')
      const left = clock.doubtful()
      if (wasDoubted && left === undefined) moved()
      wasDoubted = left !== undefined
      await told(mutations, left)
    },
    save,
    view: () => ({ machineMs: clock.wallMs(), serviceMs: clock.nowMs(), doubt: clock.doubt() }),
    confirm: async () => {
      believe('somebody has confirmed it')
      await save()
    },
  }
}

/** Whether the machine's time source can be believed about a doubt. It is asked now and then. */
function keptClock({ clock, machine, earliest }: ClockKeeperOptions): (doubt: Doubt) => Promise<boolean> {
  let askedMs = Number.NEGATIVE_INFINITY
  return async ({ wallMs, expectedMs }) => {
    if (Math.abs(wallMs - expectedMs) > SYNCHRONISED_LIMIT_MS) return false
    if (earliest.some(({ ms }) => clock.wallMs() < ms - TOLERANCE_MS)) return false
    if (clock.monotonicMs() - askedMs < ASK_MS) return false
    askedMs = clock.monotonicMs()
    return (await machine.isSynchronised()) === true
  }
}

/** Has the log and the audit trail say that a doubt begins or ends, and keeps the time with it. */
function doubtRecord({ clock, log }: ClockKeeperOptions, save: () => Promise<void>) {
  /** What the log says, and what the audit trail says: that may have to wait for the store. */
  let logged = false
  let audited = false
  return async (mutations: ClockAudit, doubt: Doubt | undefined): Promise<void> => {
    if ((doubt !== undefined) === audited) return
    if (doubt !== undefined && !logged)
      log.error(
        { reason: doubtText(doubt) },
        'the clock is not believed; nothing expires until it is, see svc clock confirm',
      )
    logged = doubt !== undefined
    const detail = { machine: timeText(clock.wallMs()), service: timeText(clock.nowMs()) }
    await mutations.run({
      principal: systemPrincipal('clock'),
      action: doubt === undefined ? 'clock.plausible' : 'clock.doubt',
      target: 'clock',
      owner: 'kernel',
      work: async (tx) => {
        tx.audit({ detail })
        return { status: 204 }
      },
    })
    audited = doubt !== undefined
    await save()
  }
}

/** Without a reboot since, the time that has passed is known; after one it is only known that some has. */
function expectationOf(row: ClockRow, machine: Machine): Parameters<JudgedClock['expect']>[0] {
  const from = 'the last commit'
  const upMs = machine.upMs()
  const isSameBoot = row.boot_id !== null && row.boot_id === machine.bootId && upMs >= row.up_ms - 1_000
  if (isSameBoot) return { expectedMs: row.at_ms + upMs - row.up_ms, aheadMs: TOLERANCE_MS, from }
  return { expectedMs: row.at_ms, aheadMs: START_TOLERANCE_MS, from }
}
