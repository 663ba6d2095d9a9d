import { join } from 'node:path'
import type { ServiceInfo } from '@steeple/contracts'
import { hangNoteOf, hostContracts } from '@steeple/plugin-packages'
import { closedItems } from '@steeple/store'
import type { KernelOptions } from '../create-kernel.ts'
import { createSubscriptions } from '../mutation/subscriptions.ts'
import { createPluginSecrets } from '../plugins/plugin-secrets.ts'
import { PluginRegistry } from '../plugins/registry.ts'
import { nodeStateOf } from '../state/node-state.ts'
import { forwardingEdge } from './forwarding-edge.ts'
import type { Ground } from './ground.ts'
import { kernelServices } from './kernel-services.ts'
import { meshServices } from './mesh-services.ts'
import { serviceInfo } from './service-info.ts'
import type { WorkPath } from './work-path.ts'

/** Plugins, and what the kernel gives them. */
export interface PluginHost {
  readonly registry: PluginRegistry
  readonly forward: ReturnType<typeof forwardingEdge>
  readonly info: ServiceInfo
  /** Resolves when this node has been put in another state, which only a start takes up. */
  readonly replaced: Promise<void>
}

/** Makes the registry, which loads nothing yet. */
export function createPluginHost(options: KernelOptions, ground: Ground, work: WorkPath): PluginHost {
  const { config, secrets, log } = options
  const { clock, timers, store, cluster, reasons, settings, metrics, tracing, services } = ground
  const { db, vault, timekeeper } = store
  const { outbox, audit, reconciler, mutations, health } = work
  const { data_dir: dataDir } = config.settings.server
  const pluginsDir = config.settings.plugins.dir || join(dataDir, 'plugins')
  const forward = forwardingEdge()
  const { edge } = forward
  const registry = new PluginRegistry({
    ...{ edge, db, mutations, log, tracing, clock, timers, settings, metrics, reconciler, services, health },
    ...{ places: cluster.places, reasons },
    secrets: createPluginSecrets(db, vault, settings.current),
    logOf: (plugin) => log.child({ plugin }),
    events: createSubscriptions({ db, outbox, log }),
    watchLoop: () => options.watchLoop?.(hangNoteOf(pluginsDir)),
    sources: { packages: options.packages, pluginsDir, isSafeMode: options.isSafeMode === true },
    ...hostContracts(),
  })
  const info = serviceInfo(options, registry, () => cluster.view())
  const replaced = Promise.withResolvers<void>()
  const restart = (): void => replaced.resolve()
  const nodeState = nodeStateOf({ options, config, pluginsDir, db, registry, restart })
  const mesh = meshServices(secrets, clock)
  services.set(
    'kernel',
    kernelServices({
      ...{ log, vault, audit, health, metrics, edge, timekeeper, info, nodeState, mesh },
      ...{ secrets, settings, registry, closed: closedItems(db, clock) },
    }),
  )
  return { registry, forward, info, replaced: replaced.promise }
}
