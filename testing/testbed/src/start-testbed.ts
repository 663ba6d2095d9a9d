import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEdge, createSchemaChecks, type SchemaChecks } from '@steeple/api'
import {
  type AuditEntry,
  type Authenticator,
  authenticatorRef,
  type Clock,
  expandRoles,
  type JsonSchema,
  type Manifest,
  type Plugin,
  type Principal,
} from '@steeple/contracts'
import {
  createKernel,
  createLog,
  type Kernel,
  type OutboxEvent,
  systemClock,
  systemTimers,
} from '@steeple/kernel'
import { initNode, openSecrets } from '@steeple/secrets'
import {
  createSchemaCompiler,
  findSections,
  loadConfig,
  planSettings,
  writeSettings,
} from '@steeple/settings'
import {
  eventually,
  type InlinePlugin,
  type Testbed,
  type TestbedOptions,
  type TestbedPlugin,
  type TestPrincipal,
  type TestRequest,
  type TestResponse,
} from '@steeple/testkit'

/** Plugins given as values, by the URL-safe name under which their package finds them. */
type Shelf = Map<string, Plugin>

const SHELF = Symbol.for('steeple.testbed.plugins')

function shelf(): Shelf {
  // The symbol is this file's own; the packages it writes read the same one.
  const holder = globalThis as { [SHELF]?: Shelf }
  holder[SHELF] ??= new Map()
  return holder[SHELF]
}

/** Makes package folders of plugins: the registry takes folders, tests have values. */
function createInlinePackages(root: string): {
  folderOf(plugin: TestbedPlugin): Promise<string>
  clear(): void
} {
  const keys: string[] = []
  let count = 0
  return {
    folderOf: async (plugin) => {
      if ('dir' in plugin) return plugin.dir
      count += 1
      const key = `${root}#${count}`
      keys.push(key)
      shelf().set(key, plugin.plugin)
      return await writePackage(join(root, `${plugin.manifest.id}-${count}`), plugin, key)
    },
    clear: () => {
      for (const key of keys) shelf().delete(key)
    },
  }
}

async function writePackage(folder: string, inline: InlinePlugin, key: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const manifest = {
    name: inline.name,
    version: inline.version,
    type: 'module',
    exports: { '.': './index.js' },
    steeple: inline.manifest,
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  if (inline.schema !== undefined && inline.manifest.config !== undefined)
    await writeFile(join(folder, inline.manifest.config), JSON.stringify(inline.schema))
  const code = `export const plugin = globalThis[Symbol.for('steeple.testbed.plugins')].get(${JSON.stringify(key)})\n`
  await writeFile(join(folder, 'index.js'), code)
  return folder
}

const PAGE = 500

/** The whole audit trail, newest first. */
async function readAudit(kernel: Kernel): Promise<readonly AuditEntry[]> {
  const all: AuditEntry[] = []
  for (;;) {
    const page = await kernel.audit.list({}, PAGE, all.at(-1)?.seq)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/** Every event that is kept, oldest first. */
async function readEvents(kernel: Kernel): Promise<readonly OutboxEvent[]> {
  const all: OutboxEvent[] = []
  for (;;) {
    const page = await kernel.outbox.after(all.at(-1)?.id ?? 0, PAGE)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

type ConfigOptions = Parameters<typeof loadConfig>[0]

/** The plugins of this workspace: what one under test reads of another's keys is there, with its defaults. */
function beside(): readonly string[] {
  const packages = fileURLToPath(new URL('../../../packages/', import.meta.url))
  return readdirSync(packages).map((name) => join(packages, name))
}

/** What testbeds of one process have in common, and no test sees: compiling schemas took half of each one's start. */
const CHECKS = sharedChecks()
const COMPILE = createSchemaCompiler()

/** Starts the real kernel and edge around the plugins under test, on a free loopback port and a fresh store. */
export async function startTestbed(options: TestbedOptions): Promise<Testbed> {
  const root = await mkdtemp(join(tmpdir(), 'steeple-testbed-'))
  const dataDir = join(root, 'data')
  const clock: Clock = options.clock ?? systemClock()
  const packages = createInlinePackages(join(root, 'packages'))
  const standIn = (await providesAuthenticator(options.plugins)) ? undefined : standInAuthenticator()
  const plugins = [...(standIn === undefined ? [] : [standIn.plugin]), ...options.plugins]
  const adminToken = randomBytes(24).toString('hex')
  await initNode({ dataDir, clock, name: 'testbed' })
  const folders = await Promise.all(plugins.map((plugin) => packages.folderOf(plugin)))
  const file = join(root, 'control.yaml')
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ ...options.settings, ...options.config }))
  const source = (): ConfigOptions => configSource(file, dataDir, folders, options.env)
  const kernel = await createKernel({
    config: loadConfig(source()),
    secrets: openSecrets(dataDir),
    log: createLog({ level: 'error', format: 'json', clock }),
    clock,
    timers: options.clock ?? systemTimers(),
    version: '0.0.0-testbed',
    packages: folders,
  })
  const cursorSecret = kernel.cursorSecret()
  const edge = createEdge(kernel, {
    ...{ adminToken, cursorSecret, checkResponses: true, checks: CHECKS },
    settingsFile: {
      path: file,
      plan: (changes) => planSettings(source(), changes),
      digest: () => createHash('sha256').update(readFileSync(file)).digest('base64url'),
      write: writeSettings,
      reload: () => kernel.reload(loadConfig(source())),
    },
  })
  kernel.attach(edge)
  let stopping: Promise<void> | undefined
  const end = async (): Promise<void> => {
    await edge.close()
    await kernel.close()
    packages.clear()
    await rm(root, { recursive: true, force: true })
  }
  const stop = (): Promise<void> => {
    stopping ??= end()
    return stopping
  }
  try {
    await kernel.registry.loadAll()
    const { port } = await edge.listen()
    kernel.begin({ isStoreNew: true })
    return {
      ...requests(`http://127.0.0.1:${port}`, adminToken),
      adminToken,
      dataDir,
      identity: kernel.identity,
      credential: credentials(standIn),
      audit: () => readAudit(kernel),
      events: () => readEvents(kernel),
      service: (ref) => kernel.service(ref),
      settled: () => settled(kernel),
      load: async (plugin) => {
        const folder = await packages.folderOf(plugin)
        // The registry looks at this very list at each load.
        folders.push(folder)
        await kernel.registry.load((await manifestOf(plugin)).id)
      },
      unload: async (id) => {
        await kernel.registry.unload(id)
      },
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Where the configuration of a testbed is read from: nothing of this machine. */
function configSource(
  file: string,
  dataDir: string,
  packages: readonly string[],
  env: TestbedOptions['env'],
): ConfigOptions {
  const source: ConfigOptions = {
    file,
    compile: COMPILE,
    env: {
      ...env,
      SVC_SERVER_DATADIR: dataDir,
      SVC_SERVER_LISTEN: '127.0.0.1:0',
      SVC_SERVER_LOGLEVEL: 'error',
    },
  }
  return { ...source, sections: findSections(source, { packages, known: beside() }) }
}

async function settled(kernel: Kernel): Promise<void> {
  await eventually(() => {
    if (!kernel.isSettled) throw new Error('reconcilers are at work')
  })
}

function credentials(standIn: StandIn | undefined): (principal: TestPrincipal) => string {
  return (principal) => {
    if (standIn === undefined)
      throw new Error('a plugin under test provides access.authenticator: ask it for a token')
    return standIn.credential(principal)
  }
}

async function providesAuthenticator(plugins: readonly TestbedPlugin[]): Promise<boolean> {
  const manifests = await Promise.all(plugins.map(manifestOf))
  return manifests.some(({ provides }) => provides?.includes(authenticatorRef.id) === true)
}

async function manifestOf(plugin: TestbedPlugin): Promise<Manifest> {
  if ('manifest' in plugin) return plugin.manifest
  // A package that the registry checks again.
  const text = await readFile(join(plugin.dir, 'package.json'), 'utf8')
  return (JSON.parse(text) as { readonly steeple: Manifest }).steeple
}

/**
 * Checks that know a schema again by what it says: each start of a plugin makes the schemas of its routes anew, and to compile
 * them took a fifth of a testbed's start. They live as long as the process.
 */
export function sharedChecks(): SchemaChecks {
  const checks = createSchemaChecks()
  const byText = new Map<string, JsonSchema>()
  const bySchema = new WeakMap<JsonSchema, JsonSchema>()
  const first = (schema: JsonSchema): JsonSchema => {
    const known = bySchema.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema)
    const same = byText.get(text) ?? schema
    byText.set(text, same)
    bySchema.set(schema, same)
    return same
  }
  return {
    isNew: (source, schema) => checks.isNew(source, first(schema)),
    check: (source, schema) => checks.check(source, first(schema)),
    checkLater: (source, schema) => checks.checkLater(source, first(schema)),
    prove: (source, schema) => checks.prove(source, first(schema)),
    renew: () => checks.renew(),
  }
}

/** Asks the edge at `url`; the admin token goes along unless the request says otherwise. */
function requests(url: string, adminToken: string): Pick<Testbed, 'url' | 'request'> {
  return {
    url,
    request: async (method, path, request = {}) => await ask(url + path, method, request, adminToken),
  }
}

async function ask(
  url: string,
  method: string,
  request: TestRequest,
  adminToken: string,
): Promise<TestResponse> {
  const { token = adminToken, body } = request
  const isText = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === false ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body: isText ? Buffer.from(body) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: bodyOf(response, text) }
}

function bodyOf(response: Response, text: string): unknown {
  if (text === '') return undefined
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return isJson ? JSON.parse(text) : text
}

/** Credentials for tests of plugins that come without `access`. */
interface StandIn {
  readonly plugin: InlinePlugin
  credential(principal: TestPrincipal): string
}

/** A plugin that provides `access.authenticator` for principals that a test names. */
function standInAuthenticator(): StandIn {
  const known = new Map<string, Principal>()
  const authenticator: Authenticator = { authenticate: async (token) => known.get(token) }
  const plugin: Plugin = {
    setup: async () => ({ services: new Map([[authenticatorRef.id, authenticator]]) }),
  }
  return {
    plugin: {
      name: '@steeple/testbed-access',
      version: '0.0.1',
      manifest: {
        id: 'testbed-access',
        kind: 'feature',
        contracts: '*',
        config_path: 'testbed_access',
        handover: 'overlap',
        provides: [authenticatorRef.id],
      },
      plugin,
    },
    credential: ({ kind, id, roles }) => {
      const token = `svc_testbed-${known.size}-${id}`
      known.set(token, { kind, id, name: id, roles: expandRoles(roles) })
      return token
    },
  }
}
