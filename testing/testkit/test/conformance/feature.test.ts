import { objectSchema, ok, type Plugin, route } from '@steeple/contracts'
import { fakeContext, featureConformance } from '../../src/index.ts'

const plugin: Plugin = {
  setup: async (context) => {
    context.every(1_000, async () => undefined)
    context.defer(() => undefined)
    return {
      routes: [
        route({
          method: 'GET',
          path: '/v1/things/:id',
          role: 'viewer',
          summary: 'One thing',
          schema: { params: objectSchema({ id: { type: 'string' } }, ['id']), response: objectSchema({}) },
          handle: async () => ok({}),
        }),
      ],
      health: async () => [{ name: 'thing', kind: 'feature', status: 'ok', detail: '' }],
    }
  },
}

featureConformance('a plugin in memory', async () => ({
  plugin,
  context: () => fakeContext({ config: {} }),
  close: async () => undefined,
}))
