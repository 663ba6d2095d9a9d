import {
  clockJudgeRef,
  healthBoardRef,
  metricsReaderRef,
  nodeIdentityRef,
  vaultRef,
} from '@steeple/contracts'
import { fakeContext, featureConformance, memoryDb } from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { plugin } from '../src/plugin.ts'

const CONFIG: AlertsConfig = {
  enabled: true,
  rules: [],
  webhooks: [],
  disabled_rules: [],
  interval: '5s',
  retention: '90d',
}

featureConformance('alerts', async () => {
  const db = memoryDb(MIGRATIONS)
  const services = new Map<string, object>([
    [nodeIdentityRef.id, { nodeId: 'n', name: 'north', certificateExpiresAtMs: Number.MAX_SAFE_INTEGER }],
    [healthBoardRef.id, { components: () => [], isReady: true }],
    [metricsReaderRef.id, { read: async () => new Map() }],
    [vaultRef.id, { keyId: 'k', register: () => undefined }],
    [clockJudgeRef.id, { view: () => ({ machineMs: 0, serviceMs: 0, doubt: undefined }) }],
  ])
  return {
    plugin,
    context: () => fakeContext<AlertsConfig>({ id: 'alerts', config: CONFIG, db, services }),
    close: async () => db.close(),
  }
})
