import {
  type ComponentHealth,
  type Context,
  type Instance,
  type Plugin,
  policyRef,
  systemPrincipal,
  txGateRef,
} from '@steeple/contracts'
import { openPolicy } from './bundle/current-policy.ts'
import { MIGRATIONS } from './migrations.ts'
import { txReconciler } from './reconcile.ts'
import { policyRoutes } from './routes/policy-routes.ts'
import { spectrumRoutes } from './routes/spectrum-routes.ts'
import { txRoutes } from './routes/tx-routes.ts'
import { TABLES } from './store.ts'
import { gateHealth } from './tx/gate-health.ts'
import { transmittersOf } from './tx/transmitters.ts'
import { TX_KEY, TX_RESOURCE, txControlOf } from './tx/tx-control.ts'

/** How often another instance's change of the policy is looked for, ms. */
const POLL_MS = 3_000

/** The policy bundle, the spectrum check and the three-layer TX gate. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context: Context): Promise<Instance> => {
    const { clock, metrics } = context
    const policy = await openPolicy(context)
    const transmitters = transmittersOf(context)
    const control = txControlOf(context, policy, transmitters)
    const checks = metrics.counter('svc_policy_spectrum_checks_total', 'Spectrum checks by result.', [
      'result',
    ])
    const armed = metrics.gauge('svc_policy_tx_armed', 'Whether TX is armed.')
    const disarms = metrics.counter('svc_policy_tx_auto_disarms_total', 'Times TX disarmed itself.')
    context.onSettings(() => context.enqueue(TX_RESOURCE, TX_KEY))
    context.every(POLL_MS, async () => {
      await policy.refresh()
    })
    return {
      routes: [
        ...policyRoutes(policy, control, clock),
        ...spectrumRoutes(context, policy, (isAllowed) =>
          checks.inc({ result: isAllowed ? 'allowed' : 'blocked' }),
        ),
        ...txRoutes(control, transmitters),
      ],
      reconcilers: [
        txReconciler({
          control,
          transmitters,
          clock,
          log: context.log,
          armed: (isArmed) => armed.set(isArmed ? 1 : 0),
          selfDisarmed: () => disarms.inc(),
        }),
      ],
      services: new Map<string, object>([
        [policyRef.id, policy],
        [txGateRef.id, control],
      ]),
      start: async () => {
        if (await policy.isStored()) return
        await context.mutate(systemPrincipal('policy'), 'policy.create', 'policy', (tx) =>
          policy.writeFirst(tx),
        )
      },
      health: async (): Promise<readonly ComponentHealth[]> => [
        policy.health(),
        await gateHealth(control, transmitters),
      ],
    }
  },
}
