import { createTurns, type NodeState } from '@steeple/contracts'
import type { LoadedConfig } from '@steeple/settings'
import type { Database } from '@steeple/store'
import { fileOfStore } from '../composition/data-dir-lock.ts'
import type { KernelOptions } from '../create-kernel.ts'
import type { PluginRegistry } from '../plugins/registry.ts'
import { captureState, removeCaptures } from './capture.ts'
import { createStaging } from './stage.ts'
import type { StateParts } from './state-parts.ts'

/** The state of this node as a whole: see `NodeState`. What was cut off before is removed. */
export function createNodeState(parts: StateParts): NodeState {
  removeCaptures(parts.dataDir)
  const staging = createStaging(parts)
  const turns = createTurns()
  return {
    // One after the other: each takes the disk and the room of a whole store.
    capture: ({ withKeys, signal }) => turns(() => captureState(parts, withKeys, signal)),
    stage: async () => staging.begin(),
  }
}

/** What of a kernel its state consists of. */
interface KernelState {
  readonly options: KernelOptions
  readonly config: LoadedConfig
  readonly pluginsDir: string
  readonly db: Database
  readonly registry: PluginRegistry
  readonly restart: () => void
}

/** The state of the node that a kernel runs. */
export function nodeStateOf({ options, config, registry, ...parts }: KernelState): NodeState {
  const { secrets, clock, log, version } = options
  return createNodeState({
    ...parts,
    secrets,
    clock,
    log,
    version,
    dataDir: config.settings.server.data_dir,
    keysDir: secrets.directory,
    storeFile: fileOfStore(config.settings),
    identity: secrets.identity,
    plugins: () => registry.plugins(),
  })
}
