import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEdge } from '@steeple/api'
import { authenticatorRef, type Clock, type Manifest } from '@steeple/contracts'
import { createKernel, createLog, type Kernel, systemClock, systemTimers } from '@steeple/kernel'
import { initNode, openSecrets } from '@steeple/secrets'
import { createSchemaCompiler, findSections, loadConfig } from '@steeple/settings'
import {
  eventually,
  type Testbed,
  type TestbedOptions,
  type TestbedPlugin,
  type TestPrincipal,
} from '@steeple/testkit'
import { createInlinePackages } from './inline-packages.ts'
import { readAudit, readEvents } from './records.ts'
import { requests } from './requests.ts'
import { sharedChecks } from './shared-checks.ts'
import { type StandIn, standInAuthenticator } from './stand-in-authenticator.ts'

type ConfigOptions = Parameters<typeof loadConfig>[0]

/** The plugins of this workspace: what one under test reads of another's keys is there, with its defaults. */
function beside(): readonly string[] {
  const packages = fileURLToPath(new URL('../../../packages/', import.meta.url))
  return readdirSync(packages).map((name) => join(packages, name))
}

const CONFIG_FILE = '/testbed/control.yaml'
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
  const source = configSource(options, dataDir)
  const kernel = await createKernel({
    config: loadConfig({ ...source, sections: findSections(source, { packages: folders, known: beside() }) }),
    secrets: openSecrets(dataDir),
    log: createLog({ level: 'error', format: 'json', clock }),
    clock,
    timers: options.clock ?? systemTimers(),
    version: '0.0.0-testbed',
    packages: folders,
  })
  const cursorSecret = kernel.cursorSecret()
  const edge = createEdge(kernel, { adminToken, cursorSecret, checkResponses: true, checks: CHECKS })
  kernel.attach(edge)
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    await edge.close()
    await kernel.close()
    packages.clear()
    await rm(root, { recursive: true, force: true })
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
      stop: () => {
        stopping ??= stop()
        return stopping
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Where the configuration of a testbed is read from: nothing of this machine. */
function configSource({ settings, config, env }: TestbedOptions, dataDir: string): ConfigOptions {
  return {
    file: CONFIG_FILE,
    compile: COMPILE,
    // JSON is YAML.
    readFile: () => JSON.stringify({ ...settings, ...config }),
    env: {
      ...env,
      SVC_SERVER_DATADIR: dataDir,
      SVC_SERVER_LISTEN: '127.0.0.1:0',
      SVC_SERVER_LOGLEVEL: 'error',
    },
  }
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
