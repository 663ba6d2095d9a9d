import { readdirSync, readFileSync } from 'node:fs'
import { codeOf } from '@steeple/http-client'

/** Names one process for good: process ids are used again, start times of the same boot are not. */
export interface ProcessMark {
  readonly pid: number
  /** Clock ticks since boot at which it started, `/proc/<pid>/stat` field 22. */
  readonly startTicks: string
  /** `/proc/sys/kernel/random/boot_id`. */
  readonly bootId: string
}

/** What `/proc/<pid>/stat` says of a process. */
interface ProcessStat {
  readonly state: string
  readonly startTicks: string
}

/** AT_SECURE of `<linux/auxvec.h>`: the kernel has run the program with raised privileges. */
const AT_SECURE = 23n
const DEAD_STATES = new Set(['Z', 'X', 'x'])

/** The mark of a process that runs now; undefined when there is none of that id. */
export function markOf(pid: number): ProcessMark | undefined {
  const stat = statOf(pid)
  return stat === undefined ? undefined : { pid, startTicks: stat.startTicks, bootId: bootId() }
}

/** Whether that very process still runs. A zombie does not, unless one of its threads is left. */
export function isAlive(mark: ProcessMark): boolean {
  if (mark.bootId !== bootId()) return false
  const stat = statOf(mark.pid)
  if (stat === undefined || stat.startTicks !== mark.startTicks) return false
  return !DEAD_STATES.has(stat.state) || listed(`/proc/${mark.pid}/task`).length > 1
}

/** Every process id that this service can see. */
export function processIds(): readonly number[] {
  return listed('/proc')
    .filter((name) => /^[1-9][0-9]*$/.test(name))
    .map(Number)
}

/** The arguments of a process; empty when it is gone or a zombie. */
export function argumentsOf(pid: number): readonly string[] {
  return readText(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)
}

/** Whether the environment of a process holds `entry`. False when it may not be read. */
export function hasEnvironment(pid: number, entry: string): boolean {
  return `\0${readText(`/proc/${pid}/environ`)}`.includes(`\0${entry}\0`)
}

/**
 * Whether the kernel ran the program of that process with raised privileges (set-user-ID or file capabilities). It then
 * forgets the parent-death signal. Also true when it does not let itself be looked at, which comes of the same.
 */
export function isPrivilegedExec(pid: number): boolean {
  let bytes: Buffer
  try {
    bytes = readFileSync(`/proc/${pid}/auxv`)
  } catch (error) {
    return ['EACCES', 'EPERM'].includes(codeOf(error))
  }
  const size = process.arch === 'arm' || process.arch === 'ia32' ? 4 : 8
  const word = (at: number): bigint =>
    size === 8 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUInt32LE(at))
  for (let at = 0; at + 2 * size <= bytes.length; at += 2 * size) {
    if (word(at) === AT_SECURE) return word(at + size) !== 0n
  }
  return false
}

function statOf(pid: number): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`)
  // The name in parentheses may hold blanks and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  const startTicks = fields[19]
  if (state === undefined || startTicks === undefined) return undefined
  return { state, startTicks }
}

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id').trim()
}

/** The text of a file of /proc or /sys; empty when it is not there, or not ours to look at. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // gone meanwhile
  }
}

/** The names in a folder of /proc; none once it is gone. */
export function listed(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return [] // gone meanwhile
  }
}
