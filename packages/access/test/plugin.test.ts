import { featureConformance } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { accessContext, tokenDb } from './helpers.ts'

featureConformance('access', async () => {
  const db = tokenDb()
  return { plugin, context: () => accessContext(db), close: async () => db.close() }
})
