import {
  bodyTooLarge,
  isServiceError,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  ok,
  pageSchema,
  pluginFailed,
  pluginNotFound,
  pluginStateConflict,
  type Reply,
  type Request,
  type Route,
  route,
  validationFailed,
} from '@steeple/contracts'
import type { PluginRecord } from '@steeple/kernel'
import type { EdgeCore } from '../edge-core.ts'

const TEXT: JsonSchema = { type: 'string' }
const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }

const PLUGIN_SCHEMA: JsonSchema = objectSchema(
  {
    name: TEXT,
    version: TEXT,
    kind: {
      ...NULLABLE_TEXT,
      description: 'core, hss, ran, collector or feature; null when the package is unusable.',
    },
    state: {
      ...TEXT,
      description: 'found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow.',
    },
    isolation: { ...NULLABLE_TEXT, description: 'inline: every plugin runs in the process of the service.' },
    health: { ...TEXT, description: 'ok, degraded, down or unknown. May grow.' },
    loaded_at: NULLABLE_TIMESTAMP_SCHEMA,
    loaded_because: {
      ...NULLABLE_TEXT,
      description:
        'Why the running copy was loaded then: the start of the service, a request, another version, changed keys.',
    },
    error: {
      ...NULLABLE_TEXT,
      description:
        'The last failure: step and reason; of needs_config the key that has no value, or a wrong one.',
    },
    essential: { type: 'boolean' },
    versions: { type: 'array', items: TEXT },
    installed: {
      type: 'array',
      items: TEXT,
      description: 'Those of the versions that were installed, and can be uninstalled.',
    },
    signed_by: {
      ...NULLABLE_TEXT,
      description:
        'Who has signed this version, by name and key; null for one of the build and an unsigned one.',
    },
  },
  [
    'name',
    'version',
    'kind',
    'state',
    'isolation',
    'health',
    'loaded_at',
    'loaded_because',
    'error',
    'essential',
    'versions',
    'installed',
    'signed_by',
  ],
)

const NAME_PARAMS: JsonSchema = objectSchema(
  { name: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,63}$' } },
  ['name'],
)

const LOAD_BODY: JsonSchema = objectSchema({
  version: {
    type: 'string',
    maxLength: 100,
    description: 'Exactly this one; the highest found when absent.',
  },
  rollback: { type: 'boolean', description: 'Allows a version below the running one.' },
  folder: {
    type: 'string',
    maxLength: 200,
    description: 'The folder in the plugins directory that it must come from, by its name.',
  },
})

const UNINSTALL_BODY: JsonSchema = objectSchema({
  version: { type: 'string', maxLength: 100, description: 'Only this one; all of them when absent.' },
})

interface LoadBody {
  readonly version?: string
  readonly rollback?: boolean
  readonly folder?: string
}

/** The plugin registry over HTTP. Contract section 3. */
export function pluginRoutes(core: EdgeCore): readonly Route[] {
  const { registry } = core.kernel
  return [
    route({
      method: 'GET',
      path: '/v1/plugins',
      role: 'admin',
      summary: 'List the known plugins with their states',
      description: 'Loaded, disabled, failed with its reason, or waiting for what it requires.',
      paged: true,
      conditional: true,
      schema: { response: pageSchema('plugins', PLUGIN_SCHEMA) },
      handle: async (request) => {
        const { limit, after, cursor } = request.page()
        const from = String(after?.[0] ?? '')
        const rest = [...registry.list()].filter(({ name }) => name > from).sort(byName)
        const page = rest.slice(0, limit)
        const last = rest.length > limit ? page.at(-1) : undefined
        const next = last === undefined ? null : cursor([last.name])
        return ok({ plugins: page.map(pluginRecord), next_cursor: next })
      },
    }),
    installRoute(core),
    changeRoute(core, 'load', 'Load a plugin, or another version of a running one', LOAD_BODY, (name, body) =>
      registry.load(name, body),
    ),
    changeRoute(
      core,
      'unload',
      'Unload a plugin until somebody loads it, or until the next start',
      undefined,
      (name) => registry.unload(name),
    ),
    changeRoute(core, 'reload', 'Start a new copy of the running version', undefined, (name) =>
      registry.reload(name),
    ),
    changeRoute(core, 'disable', 'Unload a plugin, and do not load it at any start', undefined, (name) =>
      registry.disable(name),
    ),
    changeRoute(core, 'enable', 'Load a disabled plugin, now and at each start', undefined, (name) =>
      registry.enable(name),
    ),
    changeRoute(
      core,
      'uninstall',
      'Remove the installed versions of a plugin; a bundled version is used again',
      UNINSTALL_BODY,
      (name, body) => registry.uninstall(name, body.version),
    ),
  ]
}

/** A plugin is one program and a few texts; it lies in memory while it is looked at. */
const MOST_BYTES = 32 * 1024 * 1024
const INSTALL_ACTION = 'plugin.install'

/** `POST /v1/plugins`: what `svc plugin pack` made. */
function installRoute(core: EdgeCore): Route {
  return route<unknown, unknown, Uint8Array | undefined>({
    method: 'POST',
    path: '/v1/plugins',
    role: 'admin',
    audit: INSTALL_ACTION,
    summary: 'Install a signed package and load it',
    description:
      'A .tgz that svc plugin pack made, signed with a key of plugins.trust; an unsigned one only while plugins.allow_unsigned ' +
      'is true. What is refused leaves nothing behind.',
    consumes: ['application/gzip', 'application/octet-stream'],
    rawBody: true,
    bodyLimit: MOST_BYTES,
    schema: { response: PLUGIN_SCHEMA },
    errors: [pluginStateConflict.code, validationFailed.code, bodyTooLarge.code],
    handle: async (request) => {
      const bytes = request.body
      if (bytes === undefined) throw validationFailed('the body is empty; send the package')
      const record = await attempt(core, request, INSTALL_ACTION, 'package', () =>
        core.kernel.registry.install(bytes),
      )
      return await recorded(request, record)
    },
  })
}

/** What was done, in the trail: a version, and whose it is. */
async function recorded(request: Request, record: PluginRecord): Promise<Reply> {
  return await request.mutate(record.name, async (tx): Promise<Reply> => {
    tx.audit({
      detail: { version: record.version, state: record.state, signed_by: record.signedBy ?? null },
    })
    return ok(pluginRecord(record))
  })
}

function changeRoute(
  core: EdgeCore,
  verb: 'load' | 'unload' | 'reload' | 'disable' | 'enable' | 'uninstall',
  summary: string,
  body: JsonSchema | undefined,
  change: (name: string, body: LoadBody) => Promise<PluginRecord>,
): Route {
  const action = `plugin.${verb}`
  return route<{ readonly name: string }, unknown, LoadBody | undefined>({
    method: 'POST',
    path: `/v1/plugins/:name/${verb}`,
    role: 'admin',
    audit: action,
    summary,
    description:
      'Requests in flight are answered first (at most 5 s). After a failure the set of plugins is as before.',
    schema: { params: NAME_PARAMS, response: PLUGIN_SCHEMA, ...(body === undefined ? {} : { body }) },
    errors: [pluginNotFound.code, pluginStateConflict.code],
    handle: async (request) => {
      const { name } = request.params
      const target = targetOf(core, name)
      const record = await attempt(core, request, action, target, () => change(name, request.body ?? {}))
      return await recorded(request, record)
    },
  })
}

/**
 * A change of the running set cannot be part of a transaction: it happens first, then its success is recorded.
 *
 * The registry's `plugin_failed` is a fault of the service only at its start. Here it is a conflict of what was asked for
 * with what the plugin is: `plugin_state_conflict` with the same text; the audit entry names the code within.
 */
async function attempt(
  core: EdgeCore,
  request: Request,
  action: string,
  target: string,
  change: () => Promise<PluginRecord>,
): Promise<PluginRecord> {
  try {
    return await change()
  } catch (cause) {
    await core.kernel.mutations.refuse({
      principal: request.principal,
      action,
      target,
      outcome: 'failed',
      requestId: request.id,
      detail: { code: isServiceError(cause) ? cause.code : 'internal' },
    })
    const isRefused = isServiceError(cause) && cause.code === pluginFailed.code
    throw isRefused ? pluginStateConflict(cause.message, { cause }) : cause
  }
}

/** A name that no plugin has is anything that someone typed or pasted: the audit trail, which keeps it for good, does not. */
function targetOf(core: EdgeCore, name: string): string {
  return core.kernel.registry.list().some((plugin) => plugin.name === name) ? name : 'unknown'
}

function pluginRecord(record: PluginRecord): Readonly<Record<string, unknown>> {
  const { name, version, kind, state, health, loadedAtMs, error, essential } = record
  const { versions, installed, signedBy } = record
  const loadedAt = loadedAtMs === undefined ? null : new Date(loadedAtMs).toISOString()
  return {
    name,
    version,
    kind: kind ?? null,
    state,
    isolation: kind === undefined ? null : 'inline',
    health,
    loaded_at: loadedAt,
    loaded_because: record.loadedBecause ?? null,
    error: error ?? null,
    essential,
    versions,
    installed,
    signed_by: signedBy ?? null,
  }
}

function byName(a: PluginRecord, b: PluginRecord): number {
  return a.name < b.name ? -1 : 1
}
