import { coreDriverRef, type Manifest } from '@steeple/contracts'
import { assert, eventually, loadTestbed, suite } from '@steeple/testkit'
import { createCoreConfig } from '../../src/core-config/core-config.ts'
import type { CorePlan } from '../../src/core-config/plan-record.ts'
import { CONTAINERS, smallCore } from '../support/small-core.ts'
import { makeWorld } from '../support/world.ts'

const test = suite('southbound/kernel')
const MANIFEST: Manifest = {
  id: 'driver-core-a',
  kind: 'core',
  contracts: '^0.1.0',
  config_path: 'core_a',
  provides: [coreDriverRef.id],
  selected_by: { key: 'core', value: 'core_a' },
  handover: 'exclusive',
  isolation: 'inline',
}

test(
  'brings a core into its configuration by itself, answers the plan to operators, and is in the audit trail',
  async () => {
    const world = await makeWorld()
    const { startTestbed } = await loadTestbed()
    const testbed = await startTestbed({
      plugins: [
        {
          manifest: MANIFEST,
          name: '@steeple/driver-core-a',
          version: '0.1.0',
          plugin: {
            setup: async (context) => {
              const core = createCoreConfig(context, smallCore(world))
              return {
                routes: core.routes,
                reconcilers: [core.reconciler],
                services: new Map([[coreDriverRef.id, {}]]),
                health: async () => core.health(),
              }
            },
          },
        },
      ],
      settings: {
        southbound: { driver: 'container' },
        core_a: { config_dir: world.dir, containers: CONTAINERS },
      },
    })
    try {
      await eventually(async () => (await world.read('mme.yaml')).includes('tac: 7'), 8_000)
      await testbed.settled()
      const token = testbed.credential({ kind: 'token', id: 't', roles: ['operator'] })
      const { status, body } = await testbed.request('GET', '/v1/core/plan', { token })
      assert.is(status, 200)
      assert.equal(pick(body as CorePlan), ['core_a', 'container', world.dir, 'in_sync', 0, []])
      const viewer = testbed.credential({ kind: 'token', id: 'v', roles: ['viewer'] })
      assert.is((await testbed.request('GET', '/v1/core/plan', { token: viewer })).status, 403)
      const [entry] = await testbed.audit()
      assert.equal(
        [entry?.action, entry?.target, entry?.principal.kind],
        ['core.config_apply', testbed.identity.nodeId, 'system'],
      )
      const metrics = await testbed.request('GET', '/metrics')
      assert.match(String(metrics.body), /svc_driver_core_a_apply_total\{result="applied"\} 1/)
    } finally {
      await testbed.stop()
      await world.close()
    }
  },
  { limitMs: 30_000 },
)

function pick({
  core,
  driver,
  config_dir,
  state,
  subscribers_dropped,
  problems,
}: CorePlan): readonly unknown[] {
  return [core, driver, config_dir, state, subscribers_dropped, problems]
}

test.run()
