import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { type Engine, type NewLines, newLinesOfFile, newLinesOfOutput, openPlain } from '@steeple/southbound'
import type { Daemon } from '../render/roles.ts'

/** What is read of a log: the attempts of the last minutes. */
const TAIL_BYTES = 256 * 1024
const TAIL_LINES = 2_000

/** The end of a daemon's log, or why it cannot be read. */
export type LogTail = { readonly text: string } | { readonly problem: string }

/** Reads the end of a daemon's log: `core_a.log_dir`, or the output of its container. Changes nothing. */
export async function daemonLog(
  daemon: Daemon,
  { core_a, southbound }: Pick<Settings, 'core_a' | 'southbound'>,
  engine: Engine,
  signal: AbortSignal,
): Promise<LogTail> {
  if (core_a.log_dir !== '') return await fileTail(logPath(core_a.log_dir, daemon))
  const container = core_a.containers[daemon]
  if (southbound.driver !== 'container' || container === undefined)
    return { problem: 'its log is not known: set core_a.log_dir, or core_a.containers' }
  try {
    return { text: await engine.logsTail(container, TAIL_LINES, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { problem: error instanceof Error ? error.message : 'its log cannot be read' }
  }
}

/** What a daemon has written since a position, as the two readers give it; undefined when its log is not known. */
export async function newLinesOf(
  daemon: Daemon,
  { core_a, southbound }: Pick<Settings, 'core_a' | 'southbound'>,
  engine: Engine,
  position: string | undefined,
  signal: AbortSignal,
): Promise<NewLines | undefined> {
  if (core_a.log_dir !== '') return await newLinesOfFile(logPath(core_a.log_dir, daemon), position)
  const container = core_a.containers[daemon]
  if (southbound.driver !== 'container' || container === undefined) return undefined
  return await newLinesOfOutput(engine, container, position, signal)
}

/** The file of a daemon in `core_a.log_dir`. */
function logPath(folder: string, daemon: Daemon): string {
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
