import { fakeClock, featureConformance, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../src/node-store.ts'
import { plugin } from '../src/plugin.ts'
import { nodesWorld } from './helpers.ts'

featureConformance('nodes', async () => {
  const db = memoryDb(MIGRATIONS)
  return { plugin, context: () => nodesWorld(db, fakeClock()).fake, close: async () => db.close() }
})
