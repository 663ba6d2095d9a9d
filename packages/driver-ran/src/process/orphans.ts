import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { southboundUnavailable } from '@steeple/contracts'
import { argumentsOf, hasEnvironment, isAlive, markOf, type ProcessMark, processIds } from './proc-fs.ts'
import { radioMark } from './radio-command.ts'

/** How long a killed orphan may take to be gone, ms. */
const GONE_BOUND_MS = 5_000
const POLL_MS = 10

/** Notes which process is the radio, so that a later run of the service finds it. */
export function noteRadio(directory: string, mark: ProcessMark): void {
  writeFileSync(noteOf(directory), `${JSON.stringify(mark)}\n`, { mode: 0o600 })
}

/** The radio is gone. */
export function forgetRadio(directory: string): void {
  rmSync(noteOf(directory), { force: true })
}

/**
 * Kills every radio that an earlier run of the service has left behind, and says how many there were.
 *
 * A process is one of those when the note names it with the start time of this very boot and it was given a file of the
 * directory, or when it carries the directory's mark in its environment. Throws `southbound_unavailable` when one of
 * them does not end.
 */
export async function endOrphans(directory: string): Promise<number> {
  const found = orphansOf(directory)
  for (const { pid } of found) kill(pid)
  const endMs = performance.now() + GONE_BOUND_MS
  while (found.some((mark) => isAlive(mark))) {
    if (performance.now() > endMs) {
      throw southboundUnavailable(
        `a radio that an earlier run of the service left behind cannot be ended (process ${found.map(({ pid }) => pid).join(', ')}): ` +
          'it may be on air',
      )
    }
    await wait(POLL_MS)
  }
  forgetRadio(directory)
  return found.length
}

function orphansOf(directory: string): readonly ProcessMark[] {
  const found = new Map<number, ProcessMark>()
  const noted = readNote(directory)
  if (noted !== undefined && isAlive(noted) && namesFileOf(noted.pid, directory)) found.set(noted.pid, noted)
  for (const pid of processIds()) {
    if (pid === process.pid || !hasEnvironment(pid, radioMark(directory))) continue
    const mark = markOf(pid)
    if (mark !== undefined && isAlive(mark)) found.set(pid, mark)
  }
  return [...found.values()]
}

function namesFileOf(pid: number, directory: string): boolean {
  return argumentsOf(pid).some((argument) => argument.startsWith(`${directory}/`))
}

function readNote(directory: string): ProcessMark | undefined {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(noteOf(directory), 'utf8'))
  } catch {
    return undefined // none, or half-written when the machine went down: then its processes are gone as well
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, startTicks, bootId } = value as Partial<Record<keyof ProcessMark, unknown>> // checked below
  const isMark =
    Number.isSafeInteger(pid) &&
    Number(pid) > 1 &&
    typeof startTicks === 'string' &&
    typeof bootId === 'string'
  return isMark ? { pid: Number(pid), startTicks, bootId } : undefined
}

function noteOf(directory: string): string {
  return join(directory, 'radio.json')
}

function kill(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL')
    } catch {
      // gone meanwhile, or no leader of a group
    }
  }
}
