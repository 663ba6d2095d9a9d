/** Milliseconds that the slow route takes. */
const SLOW_MS = 200

/**
 * Source of a feature plugin that opens one of everything: routes (read, slow read, mutation, stream), a table, a
 * scheduled task, a timer of its own, a reconciler, a metric, a service, a health check, a listener for settings.
 *
 * It notes weak references to what it made in `globalThis.hotCopies`, so that a test can ask what is still alive.
 */
export function hotPluginSource(version: string): string {
  return `// version ${version}
import { ok } from '@steeple/contracts'

const VERSION = '${version}'
const VERSION_SCHEMA = { type: 'object', required: ['version'], properties: { version: { type: 'string' } } }
const ITEM_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1, maxLength: 80 } },
}

async function* ticks(signal) {
  yield 'event: hello\\ndata: {"version":"' + VERSION + '"}\\n\\n'
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  yield 'event: bye\\ndata: {"version":"' + VERSION + '"}\\n\\n'
}

function remember(version, things) {
  globalThis.hotCopies ??= []
  for (const [what, thing] of Object.entries(things))
    globalThis.hotCopies.push({ version, what, reference: new WeakRef(thing) })
}

export const plugin = {
  migrations: [
    {
      id: '0001_item',
      up: ['create table hot_item (name text primary key, version text not null)'],
    },
  ],
  setup: async (context) => {
    const ballast = new Uint8Array(65536)
    const versions = context.metrics.gauge('svc_hot_copies', 'Copies by version.', ['version'])
    versions.set(1, { version: VERSION })
    const runs = context.metrics.counter('svc_hot_runs_total', 'Runs of the task.')
    context.every(500, async () => runs.inc())
    context.onSettings(() => ballast.fill(1))
    const timer = setInterval(() => ballast.fill(2), 1000)
    context.defer(() => clearInterval(timer))
    const routes = [
      {
        method: 'GET',
        path: '/v1/hot',
        role: 'viewer',
        summary: 'The version that answers',
        schema: { response: VERSION_SCHEMA },
        handle: async () => ok({ version: VERSION }),
      },
      {
        method: 'GET',
        path: '/v1/hot/slow',
        role: 'viewer',
        summary: 'The version that answers, later',
        schema: { response: VERSION_SCHEMA },
        handle: async () => {
          await new Promise((resolve) => setTimeout(resolve, ${SLOW_MS}))
          return ok({ version: VERSION })
        },
      },
      {
        method: 'GET',
        path: '/v1/hot/items',
        role: 'viewer',
        summary: 'How many items there are',
        handle: async () => ok(await context.db.get('select count(*) as items from hot_item')),
      },
      {
        method: 'POST',
        path: '/v1/hot/items',
        role: 'operator',
        audit: 'hot.item.create',
        summary: 'Adds an item',
        schema: { body: ITEM_SCHEMA, response: VERSION_SCHEMA, status: 201 },
        handle: (request) =>
          request.mutate(request.body.name, async (tx) => {
            await tx.run('insert into hot_item (name, version) values (:name, :version)', {
              name: request.body.name,
              version: VERSION,
            })
            tx.dirty('hot_item', request.body.name)
            return { status: 201, body: { version: VERSION, name: request.body.name } }
          }),
      },
      {
        method: 'GET',
        path: '/v1/hot/stream',
        role: 'viewer',
        summary: 'Says hello and, at the end, bye',
        produces: ['text/event-stream'],
        handle: async () => ({
          headers: { 'content-type': 'text/event-stream' },
          stream: ticks(context.retiring),
        }),
      },
    ]
    const reconciler = {
      resource: 'hot_item',
      resyncMs: 60000,
      keys: async () => ['first'],
      reconcile: async () => new Map(),
    }
    const service = { version: async () => VERSION }
    const instance = {
      routes,
      reconcilers: [reconciler],
      services: new Map([['hot.version', service]]),
      start: async () => context.log.debug({ version: VERSION }, 'started'),
      health: async () => [{ name: 'hot', kind: 'feature', status: 'ok', detail: VERSION + String(ballast[0]) }],
      stop: async () => {},
    }
    remember(VERSION, { context, instance, reconciler, service, ballast, route: routes[0], signal: context.retiring })
    return instance
  },
}
`
}
