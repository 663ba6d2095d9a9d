import { once } from 'node:events'
import type { KernelLog } from '@steeple/kernel'
import { type HangUp, keepHangUp } from './hang-up.ts'
import { createTeller } from './tell-systemd.ts'
import { createWatchdog } from './watchdog.ts'

/** What to do about an installed plugin that ends the service. */
const REMEDY =
  'the second time in a row the next start goes without it; svc --safe-mode goes without all installed plugins'

/** What happens to the process, and whom to tell of it now. */
export interface ProcessWatch {
  log: KernelLog | undefined
  /** Says which installed plugins an error may have come from, once there is a kernel. */
  blame: (error: unknown) => readonly string[]
  readonly hangUp: HangUp
  /** Ends the process with a note in that file when its event loop does not turn any more. */
  readonly loop: (note: string) => void
  /** Tells whoever started the process that it serves. */
  readonly isReady: () => void
  /**
   * The first SIGTERM or SIGINT, or the end of a parent that holds a channel to this process (`npm start`). Later ones
   * change nothing: a terminal sends SIGINT to every process of the group.
   */
  readonly ending: Promise<string>
}

/** Looks after the process from now on. */
export function watchProcess(): ProcessWatch {
  const signals = ['SIGTERM', 'SIGINT'] as const
  const tellSystemd = createTeller()
  for (const signal of signals) process.on(signal, () => undefined)
  const orphaned = once(process, 'disconnect').then(() => 'its parent has ended')
  const told = signals.map(async (signal) => ((await once(process, signal)) as [string])[0])
  const watch: ProcessWatch = {
    log: undefined,
    blame: () => [],
    hangUp: keepHangUp(),
    loop: createWatchdog(),
    isReady: () => {
      tellSystemd()
      process.send?.('listening')
    },
    ending: Promise.race([...told, orphaned]),
  }
  let isOver = false
  const fatal = (kind: string) => (error: unknown) => {
    const folders = watch.blame(error)
    const remedy = folders.length === 0 ? {} : { plugin_folders: folders, remedy: REMEDY }
    if (watch.log === undefined) process.stderr.write(`svc: ${kind}: ${String(error)}\n`)
    watch.log?.error({ err: error, ...remedy }, kind)
    watch.log?.flush()
    isOver = true
    process.exit(1)
  }
  // A plugin that ends the process has its code in the stack of that.
  process.on('exit', (code) => {
    const folders = isOver ? [] : watch.blame(stackOf(`the process was ended with ${code}`))
    if (folders.length === 0) return
    watch.log?.error({ code, plugin_folders: folders, remedy: REMEDY }, 'a plugin has ended the process')
    watch.log?.flush()
  })
  process.on('uncaughtException', fatal('an error was not caught'))
  process.on('unhandledRejection', fatal('a promise was not awaited'))
  return watch
}

/** An error with a stack as deep as there is. */
function stackOf(message: string): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 200
  try {
    return new Error(message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
