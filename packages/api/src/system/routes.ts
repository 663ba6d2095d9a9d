import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  defineError,
  type ErrorFactory,
  forbidden,
  type JsonSchema,
  LANGUAGES,
  type NetworkScope,
  networkScope,
  notFound,
  objectSchema,
  ok,
  type PathGroup,
  pluginNotFound,
  type Reply,
  type Request,
  type Route,
  route,
  storeUnavailable,
} from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { openapiDocument } from '../openapi/document.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { eventsRoute } from './events-route.ts'
import { documentReply, type Packed, packDocument } from './packed-document.ts'
import { pluginRoutes } from './plugin-routes.ts'
import { settingsRoutes } from './settings-route.ts'
import { siteRoutes } from './site-routes.ts'

const NAME: JsonSchema = { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }
const KEY: JsonSchema = { type: 'string', pattern: '^[a-z][a-z0-9_.]{0,127}$' }
const KEY_PARAMS: JsonSchema = objectSchema({ name: NAME, key: KEY }, ['name', 'key'])
const STATE: JsonSchema = objectSchema(
  {
    key: KEY,
    from: {
      type: 'string',
      description: 'file (its path is in the configuration), store or nowhere. May grow.',
    },
  },
  ['key', 'from'],
)
const VALUE_BODY: JsonSchema = objectSchema(
  { value: { type: 'string', minLength: 1, maxLength: 65_536, description: 'It is never shown again.' } },
  ['value'],
)

interface KeyParams {
  readonly name: string
  readonly key: string
}

/** The secrets of plugins over HTTP: which there are, and their values in one direction. */
function secretRoutes(core: EdgeCore): readonly Route[] {
  const { registry } = core.kernel
  const errors = [pluginNotFound.code, notFound.code]
  return [
    route<{ readonly name: string }, unknown, unknown>({
      method: 'GET',
      path: '/v1/plugins/:name/secrets',
      role: 'admin',
      summary: 'List the secrets of a plugin, and where each value is',
      description: 'Names only: a value is sealed in the store, in a file, or missing.',
      schema: {
        params: objectSchema({ name: NAME }, ['name']),
        response: objectSchema({ secrets: { type: 'array', items: STATE } }, ['secrets']),
      },
      errors: [pluginNotFound.code],
      handle: async ({ params }) => ok({ secrets: await registry.secrets(params.name) }),
    }),
    route<KeyParams, unknown, { readonly value: string }>({
      method: 'PUT',
      path: '/v1/plugins/:name/secrets/:key',
      role: 'admin',
      audit: 'plugin.secret.set',
      summary: "Seal the value of a plugin's secret; only the plugin can read it",
      description: 'A file that the configuration names for the same key wins over it.',
      schema: { params: KEY_PARAMS, body: VALUE_BODY, response: STATE },
      errors,
      handle: async (request) => await change(request.params, request.body.value, request),
    }),
    route<KeyParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/plugins/:name/secrets/:key',
      role: 'admin',
      audit: 'plugin.secret.remove',
      summary: 'Remove the sealed value of a secret',
      description:
        'The plugin goes on without it from the next start, or reload, on. A value in a file stays.',
      schema: { params: KEY_PARAMS, response: STATE },
      errors,
      handle: async (request) => await change(request.params, undefined, request),
    }),
  ]

  async function change(
    { name, key }: KeyParams,
    value: string | undefined,
    request: Pick<Request, 'mutate'>,
  ): Promise<Reply> {
    // Anything can be typed or pasted as a name: what is none of ours gets into no audit entry.
    const keys = (await registry.secrets(name)).map((one) => one.key)
    if (!keys.includes(key)) throw notFound(`such secret of ${name}; it has ${keys.join(', ') || 'none'}`)
    return await request.mutate(`${name}/${key}`, async (tx) => {
      await registry.writeSecret(tx, name, key, value)
      return ok({ key, from: value === undefined ? 'nowhere' : 'store' })
    })
  }
}

/** What the text is made of. */
interface MetricsSources {
  readonly kernel: Pick<EdgeKernel, 'clock' | 'metricsText' | 'metricsRevision'>
  readonly metrics: { text(): string }
}

/** Metrics are made anew when this many times the time of making them has passed: at most a twentieth of the processor. */
const REST = 20

/** One making of the text: of what was published when it began. */
interface Making {
  readonly revision: number
  readonly text: Promise<Uint8Array>
  /** When it counts no more; undefined while it is made. */
  untilMs: number | undefined
}

/**
 * The text of all metrics: the kernel's, plugins' and the edge's own.
 *
 * Who scrapes without a pause gets the text of some ms ago; who asks while it is made gets the same one. Once a copy of a plugin
 * has come or gone, nobody gets a text that was begun before.
 */
export function createMetricsText({ kernel, metrics }: MetricsSources): () => Promise<Uint8Array> {
  let last: Making | undefined
  const make = async (): Promise<Uint8Array> => Buffer.from(`${await kernel.metricsText()}${metrics.text()}`)
  const begin = (): Making => {
    const begunMs = kernel.clock.monotonicMs()
    const making: Making = { revision: kernel.metricsRevision(), text: make(), untilMs: undefined }
    const forget = (): void => {
      if (last === making) last = undefined
    }
    making.text.then(() => {
      const nowMs = kernel.clock.monotonicMs()
      making.untilMs = nowMs + REST * (nowMs - begunMs)
    }, forget)
    return making
  }
  const counts = ({ revision, untilMs }: Making): boolean =>
    revision === kernel.metricsRevision() && (untilMs === undefined || kernel.clock.monotonicMs() < untilMs)
  return async () => {
    if (last === undefined || !counts(last)) last = begin()
    return await last.text
  }
}

/** The same code as for a missing role: what is missing here is a place in the network. */
const outsideNetwork: ErrorFactory = defineError(
  forbidden.code,
  forbidden.status,
  'metrics are served only to networks in auth.metrics_allow; add yours there, and your proxy to server.trusted_proxies',
)

const EXPOSITION = 'text/plain; version=0.0.4; charset=utf-8'

/** `GET /metrics`: kernel's, plugins' and the edge's own, for clients inside `auth.metrics_allow`. */
function metricsRoute(core: EdgeCore): Route {
  const { kernel } = core
  const text = createMetricsText(core)
  let scope: NetworkScope = networkScope(kernel.settings.auth.metrics_allow)
  kernel.onSettings(() => {
    scope = networkScope(kernel.settings.auth.metrics_allow)
  })
  return route({
    method: 'GET',
    path: '/metrics',
    role: 'public',
    summary: 'Get the metrics in text exposition format',
    description: 'Only for addresses inside auth.metrics_allow. 404 when telemetry.metrics is off.',
    produces: ['text/plain'],
    errors: [forbidden.code, notFound.code],
    handle: async (request: RequestContext) => {
      if (!kernel.settings.telemetry.metrics)
        throw notFound('metrics page; set telemetry.metrics to have one')
      // The address of a proxy that is not trusted says nothing of who asks.
      const isHidden = request.proxy === undefined && request.header('x-forwarded-for') !== undefined
      if (isHidden || !scope.has(request.peerAddress)) throw outsideNetwork()
      return { body: await text(), headers: { 'Content-Type': EXPOSITION } }
    },
  })
}

const TEXT = { type: 'string' }
const NULLABLE_TEXT = { type: ['string', 'null'] }

const SCRIPT = { type: 'string', description: 'The script that draws it.' }
const PLACE = { type: 'integer', description: 'Where among others: 10 is above 20.' }
const PAGES = {
  type: 'array',
  description: 'What it adds to the console.',
  items: objectSchema(
    {
      path: TEXT,
      title: { type: 'object', description: 'By language.', additionalProperties: TEXT },
      role: TEXT,
      group: TEXT,
      icon: { type: 'string', description: 'Its icon in the menu, by its name at lucide.dev.' },
      place: PLACE,
      key: { type: 'string', description: 'The key that leads to it.' },
      mends: { type: 'array', description: 'Kinds of incidents and rules of alerts.', items: TEXT },
      module: SCRIPT,
    },
    ['path', 'title', 'role', 'module'],
  ),
}
const PANELS = {
  type: 'array',
  description: 'What it shows on pages that are not its own.',
  items: objectSchema({ on: TEXT, role: TEXT, place: PLACE, module: SCRIPT }, ['on', 'role', 'module']),
}

/** Liveness and version. Contract section 3. */
function serviceRoutes(core: EdgeCore): readonly Route[] {
  const { kernel } = core
  return [
    route({
      method: 'GET',
      path: '/v1/healthz',
      role: 'public',
      summary: 'Check that the process serves and its store answers',
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
      summary: 'Show what is running: service, API and plugins',
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
              items: objectSchema({ name: TEXT, version: TEXT, pages: PAGES, panels: PANELS }, [
                ...['name', 'version', 'pages', 'panels'],
              ]),
            },
          },
          ['version', 'api', 'commit', 'build_date', 'plugins'],
        ),
      },
      handle: async () => {
        const { version, commit, buildDate } = kernel.info
        const plugins = kernel.info
          .plugins()
          .map(({ name, version, pages = [], panels = [] }) => ({ name, version, pages, panels }))
        return ok({ version, api: 'v1', commit: commit ?? null, build_date: buildDate ?? null, plugins })
      },
    }),
    textsRoute(core),
  ]
}

/** `GET /v1/texts/{language}`: what the plugins that run say in the console, read once for each set of them. */
function textsRoute({ kernel }: EdgeCore): Route {
  const made = new Map<string, { readonly of: string; readonly packed: Promise<Packed> }>()
  return route({
    method: 'GET',
    path: '/v1/texts/:language',
    role: 'public',
    summary: 'Get the texts of plugins for the console, by language',
    description: 'The texts of all plugins that run, by key; in English where one has none of that language.',
    schema: {
      params: objectSchema({ language: { enum: LANGUAGES } }, ['language']),
      response: { type: 'object', additionalProperties: TEXT },
    },
    conditional: true,
    handle: async (request: RequestContext) => {
      const { language = 'en' } = request.params as { readonly language?: string }
      const folders = kernel.info.plugins().flatMap(({ textsDir = [] }) => textsDir)
      const of = folders.join('\n')
      const known = made.get(language)
      const packed = known?.of === of ? known.packed : packedTexts(folders, language)
      if (known?.of !== of) made.set(language, { of, packed })
      return documentReply(request, await packed, { 'Content-Type': 'application/json; charset=utf-8' })
    },
  })
}

async function packedTexts(folders: readonly string[], language: string): Promise<Packed> {
  const files = ['en', language].flatMap((name) => folders.map((folder) => join(folder, `${name}.json`)))
  // Texts that a plugin lacks, or that are no JSON, are no reason to have none of the others.
  const texts = await Promise.all(
    files.map((file) =>
      readFile(file, 'utf8')
        .then(JSON.parse)
        .catch(() => ({})),
    ),
  )
  const said = Object.entries<unknown>(Object.assign({}, ...texts)).filter(
    ([, text]) => typeof text === 'string',
  )
  return packDocument(JSON.stringify(Object.fromEntries(said)))
}

const SEE: PathGroup = { group: 'See how it is going' }

/** How the documentation shows the edge's own routes. */
export const SYSTEM_PATHS: Readonly<Record<string, PathGroup>> = {
  '/v1/healthz': { ...SEE, about: 'Is the network up, what is wrong with it, what runs here.', rank: 100 },
  '/v1/version': SEE,
  '/v1/texts': { group: 'This API' },
  '/v1/events': {
    group: 'Follow and prove',
    about: 'Events as they happen, alerts, metrics, and who did what.',
    rank: 700,
  },
  '/metrics': { group: 'Follow and prove' },
  '/v1/plugins': { group: 'Upkeep', about: 'Plugins, logs and help for support.', rank: 750 },
  '/v1/settings': { group: 'Upkeep' },
  '/v1/openapi.json': { group: 'This API', about: 'The documents about it.', rank: 800 },
  '/v1/docs': { group: 'This API' },
  '/docs': { group: 'This API' },
}

/**
 * The routes that the edge serves itself, whatever plugins are loaded. `live` gives what serves now, `documentation` is the folder of
 * the pages that this build carries.
 */
export function systemRoutes(
  core: EdgeCore,
  live: () => readonly Endpoint[],
  documentation: string | undefined,
): readonly Route[] {
  return [
    ...serviceRoutes(core),
    metricsRoute(core),
    eventsRoute(core),
    ...pluginRoutes(core),
    ...secretRoutes(core),
    ...settingsRoutes(core),
    openapiRoute(core, live),
    ...siteRoutes(documentation),
  ]
}

/** `GET /v1/openapi.json`: the document of the routes that serve now, made once per set of routes. */
function openapiRoute(core: EdgeCore, live: () => readonly Endpoint[]): Route {
  let made: { readonly of: readonly Endpoint[]; readonly packed: Packed } | undefined
  return route({
    method: 'GET',
    path: '/v1/openapi.json',
    role: 'public',
    summary: 'Get this API as an OpenAPI 3.1 document',
    description: 'Made from the routes that serve now: a part that is left out or not loaded has none.',
    schema: { response: { type: 'object' } },
    conditional: true,
    handle: async (request: RequestContext) => {
      const endpoints = live()
      if (made?.of !== endpoints) {
        const text = JSON.stringify(openapiDocument(endpoints, core.kernel.info.version))
        made = { of: endpoints, packed: packDocument(text) }
      }
      return documentReply(request, made.packed, { 'Content-Type': 'application/json; charset=utf-8' })
    },
  })
}
