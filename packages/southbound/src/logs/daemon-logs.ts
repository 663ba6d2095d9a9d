import { join } from 'node:path'
import { type CoreDriver, type Imsi, isRecord, jsonIn } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import type { SaidOfPhone } from '../registration.ts'
import { type NewLines, newLinesOfFile, openPlain } from './log-file.ts'
import { newLinesOfOutput } from './log-output.ts'

/** What is read of a log: the attempts of the last minutes. */
const TAIL_BYTES = 256 * 1024
const TAIL_LINES = 2_000

/** The end of a daemon's log, or why it cannot be read. */
type LogTail = { readonly text: string } | { readonly problem: string }

/** The logs of a core's daemons, by role. */
export interface DaemonLogs {
  tail(daemon: string, signal: AbortSignal): Promise<LogTail>
  /** What a daemon has written since a position, as `newLinesOfFile`; undefined when its log is not known. */
  newLines(daemon: string, position: string | undefined, signal: AbortSignal): Promise<NewLines | undefined>
}

interface LogPlaces {
  /** What runs the daemons, by role. */
  readonly runners: Readonly<Record<string, string>>
  /** Where their files are, `<daemon>.log`; without it their output is read. */
  readonly folder?: string
}

/** `remedy`: what to do where a log is not known. */
export function daemonLogs(engine: Engine, places: () => LogPlaces, remedy: string): DaemonLogs {
  return {
    tail: async (daemon, signal) => {
      const { folder = '', runners } = places()
      if (folder !== '') return await fileTail(logPath(folder, daemon))
      const runner = runners[daemon]
      if (runner === undefined) return { problem: `its log is not known: ${remedy}` }
      try {
        return { text: await engine.logsTail(runner, TAIL_LINES, signal) }
      } catch (error) {
        signal.throwIfAborted()
        return { problem: error instanceof Error ? error.message : 'its log cannot be read' }
      }
    },
    newLines: async (daemon, position, signal) => {
      const { folder = '', runners } = places()
      if (folder !== '') return await newLinesOfFile(logPath(folder, daemon), position)
      const runner = runners[daemon]
      return runner === undefined ? undefined : await newLinesOfOutput(engine, runner, position, signal)
    },
  }
}

function logPath(folder: string, daemon: string): string {
  return join(folder, `${daemon}.log`)
}

async function fileTail(path: string): Promise<LogTail> {
  try {
    await using file = await openPlain(path)
    const { size } = await file.stat()
    const from = Math.max(0, size - TAIL_BYTES)
    const { bytesRead, buffer } = await file.read({ position: from, buffer: Buffer.alloc(size - from) })
    return { text: buffer.subarray(0, bytesRead).toString('utf8') }
  } catch (error) {
    return { problem: `${path}: ${(error as NodeJS.ErrnoException).code ?? 'it cannot be read'}` }
  }
}

/** How daemons write of attaches. */
export interface AttachWords {
  /** Who writes of them, now. */
  writers(): readonly string[]
  /** Whether a log has a line of the level on which they do: with each attach they write of much else on it. */
  tells(text: string): boolean
  /** Whose attaches these lines say are complete. */
  attachesIn(lines: readonly string[]): readonly Imsi[]
}

/** Up to where a daemon was heard, and whether it has written on the level on which it writes of attaches. */
interface Heard {
  readonly to: string
  readonly tells: boolean
}

/** `attaches` of a driver: what daemons write when an attach is complete, read on from where it was read to. */
export function attachTeller(logs: DaemonLogs, words: AttachWords): NonNullable<CoreDriver['attaches']> {
  return async (position, signal) => {
    const before = heardFrom(position, words.writers())
    const after: Record<string, Heard> = {}
    const imsis: Imsi[] = []
    let isWhole = true
    for (const daemon of words.writers()) {
      const heard = before[daemon]
      const tellsAlready = heard?.tells ?? (await isTelling(daemon, logs, words, signal))
      const found = await logs.newLines(daemon, heard?.to, signal)
      if (found === undefined) return undefined
      imsis.push(...words.attachesIn(found.lines))
      after[daemon] = { to: found.position, tells: tellsAlready || found.lines.some(words.tells) }
      isWhole &&= found.isWhole
    }
    const isTellingNow = Object.values(after).every(({ tells }) => tells)
    return {
      imsis: isTellingNow ? imsis : [],
      isTelling: isTellingNow,
      position: JSON.stringify(after),
      isWhole,
    }
  }
}

/** A log of warnings alone says nothing of who gets on, and neither does one that is not there yet. */
async function isTelling(
  daemon: string,
  logs: DaemonLogs,
  words: AttachWords,
  signal: AbortSignal,
): Promise<boolean> {
  const log = await logs.tail(daemon, signal)
  return 'text' in log && words.tells(log.text)
}

/** What this driver, or an earlier one, wrote; what does not look like that is as none. */
function heardFrom(
  text: string | undefined,
  [first = '']: readonly string[],
): Readonly<Record<string, Heard | undefined>> {
  const value = jsonIn(text ?? '')
  if (!isRecord(value)) return {}
  // Of an only writer the position was once kept without its name.
  if (isHeard(value)) return { [first]: value }
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (isHeard(one) ? [[name, one]] : [])),
  )
}

function isHeard(value: unknown): value is Heard {
  return isRecord(value) && typeof value.to === 'string' && typeof value.tells === 'boolean'
}

/** What daemons write of phones, from the first look on; `read` makes it out of lines. */
export function registrationReader(
  logs: DaemonLogs,
  writers: () => readonly string[],
  read: (lines: readonly string[]) => readonly SaidOfPhone[],
): (signal: AbortSignal) => Promise<readonly SaidOfPhone[]> {
  const positions = new Map<string, string>()
  return async (signal) => {
    const said: SaidOfPhone[] = []
    for (const daemon of writers()) {
      // A log that cannot be read is told of where it is needed.
      const found = await logs.newLines(daemon, positions.get(daemon), signal).catch(() => undefined)
      signal.throwIfAborted()
      if (found === undefined) continue
      positions.set(daemon, found.position)
      said.push(...read(found.lines))
    }
    return said
  }
}
