import { fakeContext, featureConformance, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import type { SessionsConfig } from '../src/plugin.ts'
import { plugin } from '../src/plugin.ts'

featureConformance('sessions', async () => {
  const db = memoryDb(MIGRATIONS)
  const config: SessionsConfig = { source_order: ['gtpu', 'cdr'], unattributed_after: '5m' }
  return {
    plugin,
    context: () => fakeContext<SessionsConfig>({ id: 'sessions', config, db }),
    close: async () => db.close(),
  }
})
