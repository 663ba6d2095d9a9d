import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { promisify } from 'node:util'

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

/** This machine. */
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
