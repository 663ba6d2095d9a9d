import { resolve } from 'node:path'
import {
  type ComponentHealth,
  type Context,
  DISARM_NOTE,
  type Instance,
  type Plugin,
  policyHistoryRef,
  policyRef,
  stateNews,
  systemPrincipal,
  type TxGateState,
  transmitterRef,
  txGateRef,
} from '@steeple/contracts'
import { type CurrentPolicy, openPolicy } from './bundle/current-policy.ts'
import { MIGRATIONS } from './migrations.ts'
import { gateHealth, licenseHealth, txReconciler } from './reconcile.ts'
import { licenseRoutes } from './routes/license-routes.ts'
import { policyRoutes } from './routes/policy-routes.ts'
import { profileRoutes } from './routes/profile-routes.ts'
import { shownRoutes } from './routes/shown-routes.ts'
import { signedLicenseRoutes } from './routes/signed-license-routes.ts'
import { spectrumRoutes } from './routes/spectrum-routes.ts'
import { txRoutes } from './routes/tx-routes.ts'
import {
  currentArm,
  endArm,
  keepLicense,
  policyHistory,
  principalText,
  soundLicense,
  TABLES,
  takenLicense,
} from './store.ts'
import { disarmNote } from './tx/disarm-note.ts'
import { gateMemory, TX_KEY, TX_RESOURCE } from './tx/gate-memory.ts'
import { transmittersOf } from './tx/transmitters.ts'
import { txControlOf } from './tx/tx-control.ts'

/** How a transmitter that goes on or off is told of. */
const TX_EVENTS: Readonly<Record<TxGateState['transmitter'], string>> = {
  on: 'tx.on',
  off: 'tx.off',
  unconfirmed: 'tx.unconfirmed',
}

/** Tells of the transmitter, which was off. */
function txNews(context: Context): (state: TxGateState['transmitter']) => void {
  return stateNews<TxGateState['transmitter']>(context, 'off', ({ state, was }) => ({
    ...{ type: TX_EVENTS[state], subject: 'tx' },
    data: { transmitter: state, was },
  }))
}

/** The policy bundle, the spectrum check and the three-layer TX gate. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  // Nobody has armed the transmitter now, whoever had when the backup was taken.
  restored: async (tx, { nowMs, present }) => {
    // A backup makes no old licence new.
    const before = present && (await soundLicense(present.db))
    const after = await takenLicense(tx)
    if (before !== undefined && (after?.issued_at_ms ?? 0) < before.issued_at_ms)
      await keepLicense(tx, before)
    const arm = await currentArm(tx)
    const by = principalText(systemPrincipal('backup'))
    if (arm !== undefined) await endArm(tx, arm, { atMs: nowMs, by, reason: 'a backup was restored' })
  },
  setup: async (context: Context): Promise<Instance> => {
    const { clock, metrics } = context
    const policy = await openPolicy(context)
    const memory = gateMemory(context)
    const tell = txNews(context)
    const transmitters = transmittersOf(context, memory, tell)
    const note = disarmNote(resolve(context.settings.server.data_dir, DISARM_NOTE.file))
    const control = txControlOf(context, policy, transmitters, { memory, note })
    const checks = metrics.counter('svc_policy_spectrum_checks_total', 'Spectrum checks by result.', [
      'result',
    ])
    const armed = metrics.gauge('svc_policy_tx_armed', '1: TX is armed. 0: it is not.')
    const disarms = metrics.counter('svc_policy_tx_auto_disarms_total', 'Times TX disarmed itself.')
    context.onSettings(() => context.enqueue(TX_RESOURCE, TX_KEY))
    context.onChange(transmitterRef, () => context.enqueue(TX_RESOURCE, TX_KEY))
    followChanges(context, policy)
    return {
      routes: [
        ...policyRoutes(context, policy, control),
        ...spectrumRoutes(context, policy, (isAllowed) =>
          checks.inc({ result: isAllowed ? 'allowed' : 'blocked' }),
        ),
        ...txRoutes(control, transmitters, clock),
        ...shownRoutes(context, policy, control),
        ...profileRoutes(context, control),
        ...licenseRoutes(context, policy),
        ...signedLicenseRoutes(context, policy, control),
      ],
      reconcilers: [
        txReconciler({
          control,
          transmitters,
          clock,
          armed: (isArmed) => {
            armed.set(isArmed ? 1 : 0)
            tell(transmitters.state())
          },
          selfDisarmed: () => disarms.inc(),
        }),
      ],
      services: new Map<string, object>([
        [policyRef.id, policy],
        [policyHistoryRef.id, policyHistory(context)],
        [txGateRef.id, control],
      ]),
      start: async () => {
        await control.recall()
        if (await policy.isStored()) return
        await context.mutate(systemPrincipal('policy'), 'policy.create', 'policy', (tx) =>
          policy.writeFirst(tx),
        )
      },
      // The gate goes with the service, before all that is waited for; another copy of this plugin takes it over as it is.
      quiesce: async (why) => {
        if (why === 'upgrade') return
        control.close()
        await transmitters.stop()
      },
      health: async (): Promise<readonly ComponentHealth[]> => [
        policy.health(),
        await gateHealth(control, transmitters),
        ...(policy.health().status === 'ok'
          ? [licenseHealth(policy.bundle().spectrum.license, clock.nowMs())]
          : []),
      ],
    }
  },
}

/** Follows what was changed, by another instance on the same store too. */
function followChanges(context: Context, policy: Pick<CurrentPolicy, 'refresh'>): void {
  context.on('policy.*', async () => void (await policy.refresh()), 'each')
  context.on(
    'tx.*',
    async () => {
      context.enqueue(TX_RESOURCE, TX_KEY)
      context.changed(txGateRef)
    },
    'each',
  )
}
