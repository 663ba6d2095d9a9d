import { CommanderError } from 'commander'
import { reportError } from './output/report-error.ts'
import { buildProgram, parserFault } from './program.ts'
import { processTerminal, type Terminal } from './terminal.ts'

const terminal = processTerminal()
const argv = process.argv.slice(2)
const failed = await run(terminal, argv)
// A pipe holds 64 KiB: what its reader has not taken yet would be lost with the process.
await terminal.flushed()
process.exit(failed ?? terminal.exitCode())

/** Runs the command of the arguments. The exit code of its failure; undefined when it did its work. */
async function run(at: Terminal, words: readonly string[]): Promise<number | undefined> {
  const program = buildProgram(at, async (flags) => {
    const { serve } = await import('./serve.ts')
    at.answer(await serve({ flags, argv: words }))
  })
  try {
    await program.parseAsync(words, { from: 'user' })
    return undefined
  } catch (error) {
    const fault = error instanceof CommanderError ? parserFault(error) : error
    return fault === undefined ? 0 : reportError(at, fault, words.includes('--json'))
  }
}
