import { monitorEventLoopDelay } from 'node:perf_hooks'
import { objectSchema, type Plugin, type Route, route } from '@steeple/contracts'
import { type InlinePlugin, loadTestbed } from '@steeple/testkit'
import { type Finding, quantile } from './measure.ts'
import { packageFolder } from './package-folder.ts'

const ROUTES = 150
const ROUNDS = 30
const LIMIT_MS = 20

/** How long the event loop stands still while the set of plugins changes, with 150 routes besides the product's own. */
export async function benchGeneration(): Promise<readonly Finding[]> {
  const { startTestbed } = await loadTestbed()
  const testbed = await startTestbed({
    plugins: [
      ...['access', 'nodes', 'policy'].map((name) => ({ dir: packageFolder(name) })),
      inline('many', manyRoutes()),
    ],
  })
  try {
    const stalls: number[] = []
    const small = inline(
      'small',
      manyRoutes()
        .slice(0, 1)
        .map((one) => ({ ...one, path: '/v1/small' })),
    )
    for (let round = 0; round < ROUNDS; round++) {
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      await testbed.load(small)
      await testbed.unload('small')
      delay.disable()
      stalls.push(delay.max / 1e6)
    }
    const value = quantile(stalls.slice(3), 0.5)
    return [
      {
        name: `rebuild of the HTTP generation, ${ROUTES}+ routes`,
        value,
        unit: 'ms stall',
        target: `≤ ${LIMIT_MS} ms`,
        isMet: value <= LIMIT_MS,
      },
    ]
  } finally {
    await testbed.stop()
  }
}

function inline(id: string, routes: readonly Route[]): InlinePlugin {
  const plugin: Plugin = { setup: async () => ({ routes }) }
  return {
    name: `@bench/${id}`,
    version: '1.0.0',
    manifest: {
      id,
      kind: 'feature',
      contracts: '*',
      config_path: id,
      handover: 'overlap',
    },
    plugin,
  }
}

function manyRoutes(): readonly Route[] {
  return Array.from({ length: ROUTES }, (_, n) =>
    route<{ id: string }, unknown, { a: number }>({
      method: 'POST',
      path: `/v1/bench${n}/:id`,
      role: 'viewer',
      summary: 'Bench',
      audit: 'bench.run',
      schema: {
        params: objectSchema({ id: { type: 'string', pattern: '^[0-9a-f]{12}$' } }, ['id']),
        body: objectSchema({ a: { type: 'integer', minimum: 0 }, b: { type: 'string' } }, ['a']),
        response: objectSchema({ x: { type: 'string' }, y: { type: 'array', items: { type: 'string' } } }),
      },
      handle: async (request) =>
        await request.mutate(request.params.id, async () => ({ body: { x: 'a', y: ['b'] } })),
    }),
  )
}
