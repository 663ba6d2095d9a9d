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
  const ending = endOf(parent !== undefined)
  try {
    const lab = await startLabCore({ ...labOptions(words), failed: say })
    const places = Object.entries(lab.urls).map(([place, url]) => `${place} ${url}\n`)
    if (parent === undefined) process.stdout.write(places.join(''))
    else parent({ urls: lab.urls, tunnels: lab.path.addresses })
    await ending
    await lab.close()
    process.exit(0)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    if (parent === undefined) process.stderr.write(`lab-core: ${problem}\n`)
    else parent({ problem })
    process.exitCode = 1
    process.disconnect?.()
  }
}

function say(problem: unknown): void {
  process.stderr.write(`lab-core: ${problem instanceof Error ? problem.message : String(problem)}\n`)
}

/** What ends it. A terminal's Ctrl-C reaches everybody, and the service still needs its core while it stops. */
function endOf(isChild: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (!isChild) resolve()
    })
  process.once('disconnect', resolve)
  return promise
}
