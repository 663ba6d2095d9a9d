import { fakeClock, featureConformance, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { plugin } from '../src/plugin.ts'
import { nodesWorld } from './helpers.ts'

featureConformance('nodes', async () => {
  const db = memoryDb(MIGRATIONS)
  return { plugin, context: () => nodesWorld(db, fakeClock()).fake, close: async () => db.close() }
})
