import process from 'node:process'
import { systemTimers } from '../timers.ts'
import { createChildHost } from './process/child-host.ts'
import type { Message } from './process/wire.ts'

/** How long a process whose parent has gone takes to put its things away. */
const ORPHAN_BOUND_MS = 2_000

/** The entry of a plugin's own process: everything it does is asked for over the channel to its parent. */
function main(): void {
  const host = createChildHost(
    (message) => process.send?.(message, undefined, undefined, () => undefined),
    systemTimers(),
  )
  // A terminal and a service manager signal the whole group; the parent decides when this process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  // Only the parent writes into the channel, in the protocol of this build.
  process.on('message', (message) => host.receive(message as Message))
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), ORPHAN_BOUND_MS).unref()
    void host.leave('shutdown').finally(() => process.exit(0))
  })
}

main()
