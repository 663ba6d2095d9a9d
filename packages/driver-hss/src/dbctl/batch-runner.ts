import { southboundUnavailable } from '@steeple/contracts'
import type { Ran, RunTool } from './run-tool.ts'
import { failureIn } from './words.ts'

/** Runs one command, in the same run of the tool as others of its moment. */
export type RunBatched = (args: readonly string[], signal: AbortSignal) => Promise<Ran>

/** The most commands in one run. */
const COMMANDS_MAX = 500

interface Waiting {
  readonly args: readonly string[]
  readonly resolve: (ran: Ran) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Gathers commands and gives them to the tool's `batch` on standard input, a JSON list of words a line; it answers what
 * each printed as a JSON text a line. So keys stand in no process list, and many subscribers cost one run.
 *
 * Commands share a run, and so its exit code and standard error, only when they share a signal. One that the tool did not answer is `southbound_unavailable`.
 */
export function batchRunner(run: RunTool, flags: readonly string[]): RunBatched {
  const gathering = new Map<AbortSignal, Waiting[]>()
  const flush = async (signal: AbortSignal): Promise<void> => {
    const all = gathering.get(signal) ?? []
    gathering.delete(signal)
    for (let at = 0; at < all.length; at += COMMANDS_MAX)
      await answerAll(run, flags, all.slice(at, at + COMMANDS_MAX), signal)
  }
  return (args, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Ran>()
    const waiting = gathering.get(signal)
    if (waiting === undefined) {
      gathering.set(signal, [{ args, resolve, reject }])
      // By then whoever was answered by the run before has said what it wants next.
      setImmediate(() => void flush(signal))
    } else waiting.push({ args, resolve, reject })
    return promise
  }
}

async function answerAll(
  run: RunTool,
  flags: readonly string[],
  all: readonly Waiting[],
  signal: AbortSignal,
): Promise<void> {
  try {
    const input = all.map(({ args }) => `${JSON.stringify(args)}\n`).join('')
    const ran = await run([...flags, 'batch'], signal, input)
    const outputs = outputsIn(ran.output)
    const words = failureIn(ran)
    const why = words === undefined ? '' : `: ${words}`
    all.forEach(({ resolve, reject }, i) => {
      const output = outputs[i]
      if (output === undefined)
        reject(southboundUnavailable(`dbctl did not answer a command of its batch${why}`))
      else resolve({ ...ran, output })
    })
  } catch (error) {
    for (const { reject } of all) reject(error)
  }
}

/** Stops at the first line that is no text. */
function outputsIn(printed: string): readonly string[] {
  const outputs: string[] = []
  for (const line of printed.split('\n')) {
    const output = textIn(line)
    if (output === undefined) return outputs
    outputs.push(output)
  }
  return outputs
}

function textIn(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
