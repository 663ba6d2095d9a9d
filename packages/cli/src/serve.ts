import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createEdge, type Edge } from '@steeple/api'
import { configInvalid, type Settings } from '@steeple/contracts'
import {
  completeRestore,
  createKernel,
  createLog,
  fileOfStore,
  isRestorePending,
  type Kernel,
  type KernelLog,
  systemClock,
} from '@steeple/kernel'
import { initNode, openSecrets, type Secrets } from '@steeple/secrets'
import {
  type ConfigOptions,
  createSchemaCompiler,
  DEFAULT_CONFIG_FILE,
  type LoadedConfig,
  loadConfig,
  planSettings,
  writeSettings,
} from '@steeple/settings'
import { failure } from './command-error.ts'
import { type ListenerTls, listenerTls } from './composition/listener-tls.ts'
import { incompleteBuild, pluginPackages } from './composition/plugin-packages.ts'
import { sectionsHere } from './composition/sections.ts'
import type { ServeOptions, ServiceFlags } from './flags.ts'
import { packageRoot } from './package-root.ts'
import { COMMAND_VARIABLES } from './place.ts'
import { type ProcessWatch, watchProcess } from './process-watch.ts'
import { buildDate, ownVersion } from './version.ts'

/** Contract section 13: what can be guessed must not open everything. */
const LEAST_CHARS = 20

/**
 * The environment's admin token; undefined when the variable is absent or empty: then nobody is admin by environment.
 *
 * Throws `config_invalid` for one that is short or could not be sent.
 */
export function adminTokenFrom(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
): string | undefined {
  const token = env[variable]
  if (token === undefined || token === '') return undefined
  const remedy = `give it the output of "openssl rand -hex 24", or leave it unset and use tokens of svc token create`
  if (token.length < LEAST_CHARS) {
    throw configInvalid(
      `${variable} has fewer than ${LEAST_CHARS} characters, which can be guessed; ${remedy}`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw configInvalid(`${variable} has spaces or characters that no HTTP header carries; ${remedy}`)
  }
  return token
}

/** In a build beside everything, in a checkout where its package makes it. */
const PLACES = ['../../../../share/doc/html/', '../docs/dist/']

/** The folder of the documentation that this build carries; undefined when it carries none. */
function documentationHere(): string | undefined {
  return PLACES.map((place) => fileURLToPath(new URL(place, packageRoot()))).find((folder) =>
    existsSync(join(folder, 'index.html')),
  )
}

/** A shutdown that takes longer is cut off: plugins have 5 s to drain and 5 s to stop. */
const SHUTDOWN_LIMIT_MS = 15_000

/** How long the listener waits for installed plugins; those that take longer appear when they are ready. */
const INSTALLED_HEAD_START_MS = 100
/** So long a first start waits for them, to tell where they are. */
const INSTALLED_WELCOME_MS = 5_000

/**
 * Runs the service until SIGTERM or SIGINT; resolves with the exit code. When a restore has put another state in the place
 * of the present one, the service ends and starts anew in this process.
 *
 * Throws what keeps it from starting: `config_invalid`, `secrets_invalid`, `store_invalid`, `data_dir_in_use`,
 * `plugin_failed` of an essential plugin, `incomplete_build`.
 */
export async function serve({ flags }: ServeOptions): Promise<number> {
  // Whatever the service makes is its own: the store, locks, batches.
  process.umask(0o077)
  const watch = watchProcess()
  const packages = pluginPackages()
  const incomplete = incompleteBuild(packages)
  if (incomplete !== undefined) throw failure('incomplete_build', incomplete)
  for (let isFirst = true; ; isFirst = false) {
    const isOver = await serveOnce({ flags, packages, watch, isFirst })
    if (isOver) return 0
  }
}

/** One run of the service. */
interface Run {
  readonly flags: ServiceFlags
  readonly packages: readonly string[]
  readonly watch: ProcessWatch
  readonly isFirst: boolean
}

/** Serves until somebody ends the process (true), or until another state is to be served (false). */
async function serveOnce({ flags, packages, watch, isFirst }: Run): Promise<boolean> {
  const source = configSource(flags)
  const { config, kept } = await loadRestored(source)
  const adminToken = adminTokenFrom(process.env, config.settings.auth.admin_token_env)
  const { server } = config.settings
  const clock = systemClock()
  const log = createLog({ level: server.log_level, format: server.log_format, clock })
  for (const warning of config.warnings) log.warn({ warning }, 'configuration is odd')
  if (kept !== undefined) log.warn({ kept }, 'a backup was restored; what was before is kept')
  watch.log = log
  const secrets = await secretsOf(config.settings, flags.firstStart === true)
  const built = buildDate()
  const kernel = await createKernel({
    config,
    secrets,
    log,
    clock,
    version: ownVersion(),
    ...(built === undefined ? {} : { buildDate: built }),
    packages,
    isSafeMode: flags.safeMode === true,
    watchLoop: watch.loop,
  })
  watch.blame = (error) => kernel.registry.blame(error)
  let edge: Edge | undefined
  let tls: ListenerTls | undefined
  try {
    if (config.settings.tls.enabled) tls = watchedTls(kernel, secrets)
    edge = createEdge(kernel, edgeOptions(kernel, adminToken, source, tls))
    kernel.attach(edge)
    await kernel.registry.loadBundled()
    // What was installed may hang: most of it is ready before anybody asks, none of it keeps the service from serving.
    const installed = kernel.registry.loadInstalled()
    await Promise.race([installed, delay(INSTALLED_HEAD_START_MS)])
    const address = await edge.listen()
    kernel.begin()
    sayListening(kernel, edge, urlOf(address, tls !== undefined))
    watch.isReady()
    log.flush()
    if (flags.firstStart === true && isFirst) {
      // Their addresses are among what is told.
      await Promise.race([installed, delay(INSTALLED_WELCOME_MS)])
      const { introduce } = await import('./first-start.ts')
      await introduce(kernel, urlOf(address, tls !== undefined))
    }
    watch.hangUp.begin(() => void reload(kernel, source, log))
    const why = await Promise.race([watch.ending, kernel.replaced])
    log.info(why === undefined ? {} : { signal: why }, why === undefined ? 'starting anew' : 'stopping')
    return why !== undefined
  } finally {
    const limit = setTimeout(() => process.exit(1), SHUTDOWN_LIMIT_MS).unref()
    watch.hangUp.keep()
    // The radio first: nothing that is waited for below may keep it on air.
    const quiet = kernel.quiesce()
    await edge?.close()
    tls?.close()
    await quiet
    await kernel.close()
    clearTimeout(limit)
    log.info({}, 'stopped')
    log.close()
  }
}

function watchedTls(kernel: Kernel, secrets: Secrets): ListenerTls {
  const tls = listenerTls(kernel, secrets)
  kernel.watchHealth('listener', async () => tls.health(kernel.clock.nowMs()))
  return tls
}

/** The configuration, once a restore that was decided is complete: what it brought may have a say in it. */
async function loadRestored(
  source: ConfigOptions,
): Promise<{ readonly config: LoadedConfig; readonly kept: string | undefined }> {
  const config = loadHere(source)
  const kept = await completeRestore(config.settings)
  return { config: kept === undefined ? config : loadHere(source), kept }
}

function sayListening(kernel: Kernel, edge: Edge, url: string): void {
  const { server } = kernel.settings
  const plain = edge.plainAddress()
  const plainUrl = plain === undefined ? {} : { plain_url: urlOf(plain, false) }
  const { version } = kernel.info
  const facts = { url, ...plainUrl, version, mode: server.mode, data_dir: server.data_dir }
  kernel.log.info(facts, 'listening')
}

/** Reads the configuration with the sections of all plugins that are there now. */
function loadHere(source: ConfigOptions): LoadedConfig {
  return loadConfig({ ...source, sections: sectionsHere(source) })
}

function configSource(flags: ServiceFlags): ConfigOptions {
  return {
    ...(flags.config === undefined ? {} : { file: flags.config }),
    env: process.env,
    compile: createSchemaCompiler(),
    knownVariables: COMMAND_VARIABLES,
    flags: {
      ...(flags.dataDir === undefined ? {} : { '--data-dir': flags.dataDir }),
      ...(flags.listen === undefined ? {} : { '--listen': flags.listen }),
      ...(flags.logLevel === undefined ? {} : { '--log-level': flags.logLevel }),
    },
    surroundings: {
      // The first start makes the keys, after the configuration has said where; a restore that was cut off brings them.
      hasNodeKeys: (dataDir) =>
        flags.firstStart === true ||
        isRestorePending(dataDir) ||
        existsSync(join(dataDir, 'keys', 'node.key')),
    },
  }
}

async function secretsOf(settings: Settings, isFirstStart: boolean): Promise<Secrets> {
  const dataDir = settings.server.data_dir
  if (!isFirstStart) return openSecrets(dataDir)
  return (await initNode({ dataDir, clock: systemClock(), storeFile: fileOfStore(settings) })).secrets
}

function edgeOptions(
  kernel: Kernel,
  adminToken: string | undefined,
  source: ConfigOptions,
  tls: ListenerTls | undefined,
): Parameters<typeof createEdge>[1] {
  const documentation = documentationHere()
  return {
    adminToken,
    cursorSecret: kernel.cursorSecret(),
    settingsFile: {
      plan: (changes) => {
        // A file that has gone since the start is one to be written again.
        const readable = existsSync(source.file ?? DEFAULT_CONFIG_FILE)
          ? source
          : { ...source, readFile: () => '' }
        return planSettings({ ...readable, sections: sectionsHere(readable) }, changes)
      },
      digest: () => fileDigest(source, kernel),
      write: writeSettings,
      reload: () => kernel.reload(loadHere(source)),
    },
    ...(documentation === undefined ? {} : { documentation }),
    ...(tls === undefined ? {} : { tls }),
  }
}

/** Keyed, so that nobody finds out by trying what a file says that they may not read. */
function fileDigest({ file = DEFAULT_CONFIG_FILE }: ConfigOptions, kernel: Kernel): string {
  const text = existsSync(file) ? readFileSync(file) : ''
  return createHmac('sha256', kernel.cursorSecret()).update('settings-file').update(text).digest('base64url')
}

async function reload(kernel: Kernel, source: ConfigOptions, log: KernelLog): Promise<void> {
  try {
    await kernel.reload(loadHere(source))
  } catch (error) {
    log.error({ err: error }, 'the configuration was not reloaded; the old one stays in force')
  }
}

function urlOf(
  address: { readonly address: string; readonly family: string; readonly port: number },
  isTls: boolean,
): string {
  const isAny = address.address === '0.0.0.0' || address.address === '::'
  const host = isAny ? '127.0.0.1' : address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `${isTls ? 'https' : 'http'}://${host}:${address.port}`
}
