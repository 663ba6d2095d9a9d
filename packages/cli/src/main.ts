#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=30
// Whatever starts this does it by the line above, so that what it asks of node stands in one place: the young generation grows to 48 MB
// otherwise and is not given back, and the old one grows to a multiple before it is collected, which floods of long lists make use of.
import { type ServiceFlags, serviceFlagsOf } from './flags.ts'
import { reportError } from './output/report-error.ts'
import { processTerminal, type Terminal } from './terminal.ts'

const terminal = processTerminal()
const argv = process.argv.slice(2)
const failed = await run(terminal, argv)
// A pipe holds 64 KiB: what its reader has not taken yet would be lost with the process.
await terminal.flushed()
process.exit(failed ?? terminal.exitCode())

/** Runs the command of the arguments. The exit code of its failure; undefined when it did its work. */
async function run(at: Terminal, words: readonly string[]): Promise<number | undefined> {
  const serve = async (flags: ServiceFlags): Promise<void> => {
    const service = await import('./serve.ts')
    at.answer(await service.serve({ flags, argv: words }))
  }
  try {
    const flags = serviceFlagsOf(words)
    if (flags === undefined) {
      const { runProgram } = await import('./program.ts')
      await runProgram(at, serve, words)
    } else await serve(flags)
    return undefined
  } catch (error) {
    return reportError(at, error, words.includes('--json'))
  }
}
