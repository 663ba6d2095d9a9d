#!/usr/bin/env node
import { clientCommand, USAGE } from './client.ts'
import { labOptions } from './flags.ts'
import { startLabCore } from './lab-core.ts'

const [command = 'help', ...words] = process.argv.slice(2)
// The store holds keys.
process.umask(0o077)
if (command === 'serve') await serve()
else if (command === 'help' || command === '--help') process.stdout.write(USAGE)
else process.exitCode = await clientCommand(command, words, process.env.LAB_CORE_URL)

/** Runs until SIGTERM or SIGINT; as a child with a channel, until its parent closes that, however it ends. */
async function serve(): Promise<void> {
  const parent = process.send?.bind(process)
  try {
    const lab = await startLabCore(labOptions(words))
    const end = async (): Promise<void> => {
      await lab.close()
      process.exit(0)
    }
    if (parent === undefined) {
      process.stdout.write(`MME ${lab.urls.mme}\nSMF ${lab.urls.smf}\nphones ${lab.urls.control}\n`)
      process.once('SIGTERM', () => void end())
      process.once('SIGINT', () => void end())
    } else {
      // A terminal's Ctrl-C reaches everybody; the service still needs its core while it stops.
      process.on('SIGTERM', () => undefined)
      process.on('SIGINT', () => undefined)
      process.once('disconnect', () => void end())
      parent({ urls: lab.urls })
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    if (parent === undefined) process.stderr.write(`lab-core: ${problem}\n`)
    else parent({ problem })
    process.exitCode = 1
    process.disconnect?.()
  }
}
