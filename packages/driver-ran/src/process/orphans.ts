import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { southboundUnavailable } from '@steeple/contracts'
import { type Descendant, descendantsOf } from './descendants.ts'
import { radioMark } from './guard-script.ts'
import { argumentsOf, hasEnvironment, isAlive, markOf, type ProcessMark, processIds } from './proc-fs.ts'

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
 * directory, when it carries the directory's mark in its environment, or when one of those has started it. It looks again
 * until there is none. Throws `southbound_unavailable` when one of them does not end.
 */
export async function endOrphans(directory: string): Promise<number> {
  const first = orphansOf(directory)
  const endMs = performance.now() + GONE_BOUND_MS
  let left = first
  while (left.length > 0) {
    if (performance.now() > endMs) {
      throw southboundUnavailable(
        `a radio that an earlier run left behind cannot be ended (process ${left.map(({ pid }) => pid).join(', ')}): ` +
          'it may be on air',
      )
    }
    for (const { pid } of left) kill(pid)
    await wait(POLL_MS)
    left = orphansOf(directory, left)
  }
  forgetRadio(directory)
  return first.length
}

/** `before`: those that were found before. One that is about to end has lost its environment already. */
function orphansOf(directory: string, before: readonly ProcessMark[] = []): readonly ProcessMark[] {
  const found = new Map(before.filter(isAlive).map((mark) => [mark.pid, mark]))
  const noted = readNote(directory)
  if (noted !== undefined && isAlive(noted) && namesFileOf(noted.pid, directory)) found.set(noted.pid, noted)
  for (const pid of processIds()) {
    if (pid === process.pid || !hasEnvironment(pid, radioMark(directory))) continue
    const mark = markOf(pid)
    if (mark !== undefined && isAlive(mark)) found.set(pid, mark)
  }
  for (const mark of [...found.values()]) {
    for (const { pid } of startedBy(mark, radioMark(directory))) {
      const started = markOf(pid)
      if (started !== undefined) found.set(pid, started)
    }
  }
  return [...found.values()]
}

function startedBy({ pid, startTicks }: ProcessMark, entry: string): readonly Descendant[] {
  const lineage = { root: pid, sinceTicks: Number(startTicks), entry, self: process.pid }
  return descendantsOf({ readdirSync, readFileSync }, lineage)(false)
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
