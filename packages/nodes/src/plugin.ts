import {
  agentWatchRef,
  lifecycleRef,
  meshStandingRef,
  nodeIdentityRef,
  nodeRegistryRef,
  type Plugin,
} from '@steeple/contracts'
import { agentWatch } from './agent-watch.ts'
import { clockRoutes } from './clock-routes.ts'
import { createLifecycle } from './lifecycle.ts'
import { lifecycleRoutes } from './lifecycle-routes.ts'
import { MIGRATIONS } from './migrations.ts'
import { nodeRegistry } from './node-registry.ts'
import { nodeRoutes } from './node-routes.ts'
import { TABLES } from './node-store.ts'
import { ensureOwnNode } from './own-node.ts'
import { createRadioLook } from './radio-view.ts'
import { NODE_RESOURCE, nodeReconciler } from './reconcile.ts'
import { serviceRoutes } from './service-routes.ts'
import { telemetryRoutes } from './telemetry-routes.ts'

/** Node records, lifecycle, telemetry, status and health. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const lifecycle = createLifecycle(context)
    context.onChange(meshStandingRef, () =>
      context.enqueue(NODE_RESOURCE, context.use(nodeIdentityRef).nodeId),
    )
    return {
      routes: [
        ...nodeRoutes(context),
        ...clockRoutes(context),
        ...telemetryRoutes(context),
        ...lifecycleRoutes(context, lifecycle),
        ...serviceRoutes(context, lifecycle, createRadioLook(context)),
      ],
      reconcilers: [nodeReconciler(context, lifecycle)],
      services: new Map<string, object>([
        [agentWatchRef.id, agentWatch(context)],
        [lifecycleRef.id, lifecycle],
        [nodeRegistryRef.id, nodeRegistry(context)],
      ]),
      start: () => ensureOwnNode(context),
    }
  },
}
