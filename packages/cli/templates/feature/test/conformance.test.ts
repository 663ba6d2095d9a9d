import { fakeContext, featureConformance, memoryDb } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { migrations } from '../src/store.ts'

featureConformance('sample-plugin', async () => {
  const db = memoryDb(migrations)
  return {
    plugin,
    context: () => fakeContext({ id: 'sample-plugin', config: { max_notes: 10 }, db }),
    close: async () => db.close(),
  }
})
