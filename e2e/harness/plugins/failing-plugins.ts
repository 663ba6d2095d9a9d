import type { PluginBuild } from './install-version.ts'

/** A version that must be refused, and what the refusal says. */
export interface FailingVersion {
  readonly name: string
  readonly build: Omit<PluginBuild, 'id' | 'version'>
  /** The step of the plugin's life at which it fails. */
  readonly step: 'check' | 'import' | 'config' | 'migrate' | 'setup' | 'routes' | 'start'
  readonly reason: RegExp
}

/** Pieces of a plugin's source; each in the place that its name says. */
export interface SourceParts {
  /** Before the export. */
  readonly head?: string
  /** Properties of the exported plugin, each with a comma after it. */
  readonly plugin?: string
  /** First statements of setup. */
  readonly setup?: string
  /** Properties of the instance, each with a comma after it. */
  readonly instance?: string
  /** Further routes, each with a comma after it. */
  readonly routes?: string
}

/** A small plugin with one route `/v1/<id>` that answers its version; opens a timer, and is noted in `globalThis.copies`. */
export function sourceOf({
  head = '',
  plugin = '',
  setup = '',
  instance = '',
  routes = '',
}: SourceParts = {}): string {
  return `${head}
export const plugin = {
  ${plugin}
  setup: async (context) => {
    const { id, version } = context.plugin
    const ballast = new Uint8Array(65536)
    const timer = setInterval(() => ballast.fill(1), 60000)
    context.defer(() => clearInterval(timer))
    context.every(1000, async () => {})
    context.metrics.gauge('svc_' + id.replaceAll('-', '_') + '_copies', 'Copies.', ['version']).set(1, { version })
    globalThis.copies ??= []
    globalThis.copies.push({ id, version, reference: new WeakRef(ballast) }, { id, version, reference: new WeakRef(context) })
    ${setup}
    return {
      ${instance}
      routes: [
        {
          method: 'GET',
          path: '/v1/' + id,
          role: 'viewer',
          summary: 'Its version',
          handle: async () => ({ body: { version, ballast: ballast.length } }),
        },
        ${routes}
      ],
    }
  },
}
`
}

/** Versions that hang: each is given up after its bound of 10 s. */
export const HANGING_VERSIONS: readonly FailingVersion[] = [
  {
    name: 'hangs while it is imported',
    build: { code: sourceOf({ head: 'await new Promise(() => {})' }) },
    step: 'import',
    reason: /its import took longer than 10 s/,
  },
  {
    name: 'hangs in setup',
    build: { code: sourceOf({ setup: 'await new Promise(() => {})' }) },
    step: 'setup',
    reason: /its setup took longer than 10 s/,
  },
  {
    name: 'hangs in start',
    build: { code: sourceOf({ instance: 'start: () => new Promise(() => {}),' }) },
    step: 'start',
    reason: /its start took longer than 10 s/,
  },
]

function migration(...up: readonly string[]): string {
  return sourceOf({
    plugin: `migrations: [{ id: '0001_first', up: ['create table victim_first (name text primary key)'] }, ${JSON.stringify({ id: '0002_second', up })}],`,
  })
}

function route(fields: string): string {
  return `{ method: 'GET', role: 'viewer', summary: 'x', handle: async () => ({ body: {} }), ${fields} },`
}

/** Every other way to fail, of versions of a plugin with the id `victim` whose version 1.0.0 runs. */
export const FAILING_VERSIONS: readonly FailingVersion[] = [
  {
    name: 'has no manifest',
    build: {
      code: sourceOf(),
      packageJson: '{"name":"plugin-victim","version":"VERSION","exports":"./plugin.js"}',
    },
    step: 'check',
    reason: /package\.json: must have required property 'steeple'/,
  },
  {
    name: 'has a manifest that is not JSON',
    build: { code: sourceOf(), packageJson: '{"name":' },
    step: 'check',
    reason: /package\.json is missing or not JSON/,
  },
  {
    name: 'has an unknown key in its manifest',
    build: { code: sourceOf(), manifest: { requries: ['policy.tx_gate'] } },
    step: 'check',
    reason: /steeple must NOT have additional properties \(requries\)/,
  },
  {
    name: 'has a kind that does not exist',
    build: { code: sourceOf(), manifest: { kind: 'toaster' } },
    step: 'check',
    reason: /steeple\.kind must be equal to one of the allowed values/,
  },
  {
    name: 'needs newer contracts',
    build: { code: sourceOf(), manifest: { contracts: '^9.0.0' } },
    step: 'check',
    reason: /built for contracts \^9\.0\.0, this service has \d/,
  },
  {
    name: 'needs a service that nobody provides',
    build: { code: sourceOf(), manifest: { requires: ['weather.forecast'] } },
    step: 'check',
    reason: /nobody provides weather\.forecast/,
  },
  {
    name: 'provides what another plugin provides',
    build: {
      code: sourceOf({ instance: "services: new Map([['policy.tx_gate', {}]])," }),
      manifest: { provides: ['policy.tx_gate'] },
    },
    step: 'check',
    reason: /policy\.tx_gate, which policy provides already/,
  },
  {
    name: 'is of another kind than the running version',
    build: { code: sourceOf(), manifest: { kind: 'collector' } },
    step: 'check',
    reason: /its kind collector is not that of the running one, feature/,
  },
  {
    name: 'is another package that took the id',
    build: { code: sourceOf(), packageName: 'somebody-else' },
    step: 'check',
    reason: /its id belongs to plugin-victim, this is somebody-else/,
  },
  {
    name: 'throws while it is imported',
    build: { code: sourceOf({ head: "throw new Error('no module today')" }) },
    step: 'import',
    reason: /no module today/,
  },
  {
    name: 'is not JavaScript',
    build: { code: 'export const plugin = {{' },
    step: 'import',
    reason: /Unexpected token/,
  },
  {
    name: 'exports no plugin',
    build: { code: 'export const plugins = {}' },
    step: 'import',
    reason: /exports no `plugin` with a `setup` function/,
  },
  {
    name: 'imports what is not part of its file',
    build: { code: sourceOf({ head: "import './helper.js'" }) },
    step: 'import',
    reason: /an installed plugin is one file: bundle \.\/helper\.js into it/,
  },
  {
    name: 'imports a package of the service',
    build: { code: sourceOf({ head: "import '@steeple/kernel'" }) },
    step: 'import',
    reason: /bundle @steeple\/kernel into it/,
  },
  {
    name: 'has a configuration that is not there',
    build: {
      code: sourceOf(),
      schema: { properties: { victim: { required: ['url'], properties: { url: { type: 'string' } } } } },
    },
    step: 'config',
    reason: /victim needs the key url/,
  },
  {
    name: 'has a schema of its configuration that does not compile',
    build: { code: sourceOf(), schema: { properties: { victim: { type: 'nonsense' } } } },
    step: 'check',
    reason: /config\.schema\.json is no schema: .*type/,
  },
  {
    name: 'drops a table in a migration',
    build: { code: migration('drop table victim_first') },
    step: 'migrate',
    reason: /only create table, create index, alter table add column/,
  },
  {
    name: "adds a column to another plugin's table",
    build: { code: migration('alter table access_token add column spy text') },
    step: 'migrate',
    reason: /access_token/,
  },
  {
    name: 'makes a table under a foreign name',
    build: { code: migration('create table policy_spy (name text primary key)') },
    step: 'migrate',
    reason: /policy_spy/,
  },
  {
    name: 'copies a foreign table in a migration',
    build: { code: migration('create table victim_copy as select * from access_token') },
    step: 'migrate',
    reason: /./,
  },
  {
    name: 'throws in setup',
    build: { code: sourceOf({ setup: "throw new Error('no setup today')" }) },
    step: 'setup',
    reason: /no setup today/,
  },
  {
    name: 'gives no instance',
    build: { code: sourceOf({ setup: 'return undefined' }) },
    step: 'setup',
    reason: /setup gave no instance/,
  },
  {
    name: 'provides a service that its manifest does not name',
    build: { code: sourceOf({ instance: "services: new Map([['victim.secret', {}]])," }) },
    step: 'setup',
    reason: /it provides victim\.secret, which steeple\.provides does not name/,
  },
  {
    name: 'uses a service that nobody provides',
    build: { code: sourceOf({ setup: "context.use({ id: 'weather.forecast' })" }) },
    step: 'setup',
    reason: /nobody provides the service weather\.forecast/,
  },
  {
    name: "reads another plugin's table",
    build: { code: sourceOf({ setup: "await context.db.all('select * from access_token')" }) },
    step: 'setup',
    reason: /access_token/,
  },
  {
    name: 'has a reconciler of a resource that is taken',
    build: {
      code: sourceOf({
        instance:
          "reconcilers: [{ resource: 'bystander', resyncMs: 60000, keys: async () => [], reconcile: async () => new Map() }],",
      }),
    },
    step: 'setup',
    reason: /bystander/,
  },
  {
    name: 'has a route without a role',
    build: { code: sourceOf({ routes: route("path: '/v1/victim/x', role: undefined") }) },
    step: 'setup',
    reason: /route GET \/v1\/victim\/x names no role/,
  },
  {
    name: 'has a mutating route without an audit action',
    build: { code: sourceOf({ routes: route("path: '/v1/victim/x', method: 'POST'") }) },
    step: 'setup',
    reason: /route POST \/v1\/victim\/x names no audit action/,
  },
  {
    name: 'duplicates a route of policy',
    build: { code: sourceOf({ routes: route("path: '/v1/policy'") }) },
    step: 'routes',
    reason: /GET \/v1\/policy is already a route of policy/,
  },
  {
    name: 'duplicates a route with a parameter of another name',
    build: { code: sourceOf({ routes: route("path: '/v1/bystander/:other'") }) },
    step: 'routes',
    reason: /is already a route of bystander/,
  },
  {
    name: 'duplicates a route of the edge',
    build: { code: sourceOf({ routes: route("path: '/v1/healthz'") }) },
    step: 'routes',
    reason: /\/v1\/healthz is already a route of/,
  },
  {
    name: 'has a schema that does not compile',
    build: {
      code: sourceOf({
        routes: route(
          "path: '/v1/victim/x', schema: { query: { type: 'object', properties: { a: { type: 'nonsense' } } } }",
        ),
      }),
    },
    step: 'routes',
    reason: /\/v1\/victim\/x/,
  },
  {
    name: 'has a schema with a reference to nowhere',
    build: {
      code: sourceOf({ routes: route("path: '/v1/victim/x', schema: { query: { $ref: '#/nowhere' } }") }),
    },
    step: 'routes',
    reason: /\/v1\/victim\/x/,
  },
  {
    name: 'throws in start',
    build: { code: sourceOf({ instance: "start: async () => { throw new Error('no start today') }," }) },
    step: 'start',
    reason: /no start today/,
  },
]
