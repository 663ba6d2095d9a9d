import { objectSchema, ok, type Route, route, storeUnavailable } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'

const TEXT = { type: 'string' }
const NULLABLE_TEXT = { type: ['string', 'null'] }

const PAGES = {
  type: 'array',
  description: 'What it adds to the console.',
  items: objectSchema(
    {
      path: TEXT,
      title: { type: 'object', description: 'By language.', additionalProperties: TEXT },
      role: TEXT,
      group: TEXT,
      module: { type: 'string', description: 'The script that draws it.' },
    },
    ['path', 'title', 'role', 'module'],
  ),
}

/** Liveness and version. Contract section 3. */
export function serviceRoutes(core: EdgeCore): readonly Route[] {
  const { kernel } = core
  return [
    route({
      method: 'GET',
      path: '/v1/healthz',
      role: 'public',
      summary: 'Whether the process serves and its store answers',
      description:
        '200 while it does, 503 when the store does not answer. Asks neither core nor radio: GET /v1/health does.',
      urgent: true,
      schema: { response: objectSchema({ status: { const: 'ok' }, version: TEXT }, ['status', 'version']) },
      errors: [storeUnavailable.code],
      handle: async () => {
        const reason = await kernel.db.probe()
        if (reason !== undefined) throw storeUnavailable('it does not answer', { cause: reason })
        return ok({ status: 'ok', version: kernel.info.version })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/version',
      role: 'public',
      summary: 'What is running: service, API and plugins',
      description: 'Versions of the service, of this API and of each plugin that serves.',
      schema: {
        response: objectSchema(
          {
            version: TEXT,
            api: { const: 'v1' },
            commit: NULLABLE_TEXT,
            build_date: NULLABLE_TEXT,
            plugins: {
              type: 'array',
              items: objectSchema({ name: TEXT, version: TEXT, pages: PAGES }, ['name', 'version', 'pages']),
            },
          },
          ['version', 'api', 'commit', 'build_date', 'plugins'],
        ),
      },
      handle: async () => {
        const { version, commit, buildDate } = kernel.info
        const plugins = kernel.info
          .plugins()
          .map(({ name, version, pages = [] }) => ({ name, version, pages }))
        return ok({ version, api: 'v1', commit: commit ?? null, build_date: buildDate ?? null, plugins })
      },
    }),
  ]
}
