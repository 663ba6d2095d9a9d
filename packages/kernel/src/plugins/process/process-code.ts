import type { Context, Instance, Log, Plugin } from '@steeple/contracts'
import { pluginIsolation } from '@steeple/contracts'
import type { Timers } from '../../timers.ts'
import type { PluginCode } from '../code.ts'
import type { FoundPlugin } from '../manifest.ts'
import type { ServiceContainer } from '../service-container.ts'
import { type PluginProcess, startProcess } from './child-process.ts'
import { createParentHandlers, type ParentHandlers } from './parent-handlers.ts'
import { supervise } from './supervisor.ts'
import type { WirePlugin } from './wire.ts'

/** What the code of a `process` plugin needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface ProcessCodeOptions {
  readonly contractsUrl: string
  readonly childEntry: URL
  readonly services: ServiceContainer
  readonly timers: Timers
  readonly logOf: (plugin: string) => Log
  readonly random: () => number
}

/** A process that has imported the plugin's module and done nothing with it yet. */
export interface LoadedProcess {
  readonly process: PluginProcess
  readonly plugin: WirePlugin
}

/** Bound on the start of a process and the import of the module in it. */
const LOAD_BOUND_MS = 10_000

/**
 * The code of a plugin with isolation `process`: each copy that is set up is a child process of its own. One is started
 * at once, to ask the module for its configuration schema; the first copy takes it over.
 */
export async function loadProcessCode(found: FoundPlugin, options: ProcessCodeOptions): Promise<PluginCode> {
  const { id } = found.manifest
  const launch = (handlers: ParentHandlers): Promise<LoadedProcess> => loadProcess(found, options, handlers)
  const firstHandlers = createParentHandlers(options.logOf(id))
  let first: LoadedProcess | undefined = await launch(firstHandlers)
  const { config } = first.plugin
  const setup = async (context: Context): Promise<Instance> => {
    const taken = first
    first = undefined
    const handlers = taken === undefined ? createParentHandlers(options.logOf(id)) : firstHandlers
    return await supervise({
      found,
      options,
      context,
      handlers,
      launch: () => launch(handlers),
      first: taken,
    })
  }
  const plugin: Plugin = { setup, ...(config === undefined ? {} : { config }) }
  return {
    plugin,
    dispose: async () => {
      const unused = first
      first = undefined
      await unused?.process.end()
    },
  }
}

async function loadProcess(
  found: FoundPlugin,
  { childEntry, timers, logOf, contractsUrl }: ProcessCodeOptions,
  { calls, tells }: ParentHandlers,
): Promise<LoadedProcess> {
  const log = logOf(found.manifest.id)
  const child = startProcess({ entry: childEntry, dir: found.dir, log, timers, calls, tells })
  try {
    // The child answers with what it read from the module.
    const plugin = (await child.peer.call('load', [found, contractsUrl], LOAD_BOUND_MS)) as WirePlugin
    if (plugin.migrations > 0)
      throw pluginIsolation('a plugin with isolation "process" has no tables, so no migrations')
    return { process: child, plugin }
  } catch (error) {
    child.kill()
    await child.ended
    throw error
  }
}
