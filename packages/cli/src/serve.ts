import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createEdge, type Edge } from '@steeple/api'
import { systemClock } from '@steeple/clock'
import { createKernel, type Kernel } from '@steeple/kernel'
import { initNode, openSecrets, type Secrets } from '@steeple/secrets'
import { type ConfigOptions, createSchemaCompiler, type LoadedConfig, loadConfig } from '@steeple/settings'
import { createLog, type KernelLog } from '@steeple/telemetry'
import { adminTokenFrom } from './admin-token.ts'
import { failure } from './command-error.ts'
import { type ListenerTls, listenerTls } from './composition/listener-tls.ts'
import { incompleteBuild, pluginPackages, sectionsHere } from './composition/plugin-packages.ts'
import { introduce } from './first-start.ts'
import type { ServeOptions, ServiceFlags } from './flags.ts'
import { keepHangUp } from './hang-up.ts'
import { COMMAND_VARIABLES } from './place.ts'
import { buildDate, ownVersion } from './version.ts'

/** A shutdown that takes longer is cut off: plugins have 5 s to drain and 5 s to stop. */
const SHUTDOWN_LIMIT_MS = 15_000

/** What to do about an installed plugin that ends the service. */
const REMEDY =
  'the second time in a row the next start goes without it; svc --safe-mode goes without all installed plugins'

/** How long the listener waits for installed plugins; those that take longer appear when they are ready. */
const INSTALLED_HEAD_START_MS = 100

/**
 * Runs the service until SIGTERM or SIGINT; resolves with the exit code.
 *
 * Throws what keeps it from starting: `config_invalid`, `secrets_invalid`, `store_invalid`, `data_dir_in_use`,
 * `plugin_failed` of an essential plugin, `incomplete_build`.
 */
export async function serve({ flags }: ServeOptions): Promise<number> {
  // Whatever the service makes is its own: the store, locks, batches.
  process.umask(0o077)
  const hangUp = keepHangUp()
  const packages = pluginPackages()
  const incomplete = incompleteBuild(packages)
  if (incomplete !== undefined) throw failure('incomplete_build', incomplete)
  const source = configSource(flags)
  const config = loadHere(source)
  const adminToken = adminTokenFrom(process.env, config.settings.auth.admin_token_env)
  const { server } = config.settings
  const clock = systemClock()
  const log = createLog({ level: server.log_level, format: server.log_format, clock })
  for (const warning of config.warnings) log.warn({ warning }, 'configuration is odd')
  const blamed: Blamed = { blame: () => [] }
  const ending = endingSignal(log, blamed)
  const secrets = await secretsOf(server.data_dir, flags.firstStart === true)
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
  })
  blamed.blame = (error) => kernel.registry.blame(error)
  let edge: Edge | undefined
  let tls: ListenerTls | undefined
  try {
    if (config.settings.tls.enabled) tls = watchedTls(kernel, secrets)
    edge = createEdge(kernel, edgeOptions(kernel, adminToken, tls))
    kernel.attach(edge)
    await kernel.registry.loadBundled()
    // What was installed may hang: most of it is ready before anybody asks, none of it keeps the service from serving.
    await Promise.race([kernel.registry.loadInstalled(), delay(INSTALLED_HEAD_START_MS)])
    const address = await edge.listen()
    kernel.begin()
    const url = urlOf(address, tls !== undefined)
    const plain = edge.plainAddress()
    const plainUrl = plain === undefined ? {} : { plain_url: urlOf(plain, false) }
    log.info(
      { url, ...plainUrl, version: kernel.info.version, mode: server.mode, data_dir: server.data_dir },
      'listening',
    )
    log.flush()
    if (flags.firstStart === true) await introduce(kernel, url)
    hangUp.begin(() => void reload(kernel, source, log))
    const signal = await ending
    log.info({ signal }, 'stopping')
    return 0
  } finally {
    setTimeout(() => process.exit(1), SHUTDOWN_LIMIT_MS).unref()
    // The radio first: nothing that is waited for below may keep it on air.
    const quiet = kernel.quiesce()
    await edge?.close()
    tls?.close()
    await quiet
    await kernel.close()
    log.info({}, 'stopped')
    log.close()
  }
}

function watchedTls(kernel: Kernel, secrets: Secrets): ListenerTls {
  const tls = listenerTls(kernel, secrets)
  kernel.watchHealth('listener', async () => tls.health(kernel.clock.nowMs()))
  return tls
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
    // The first start makes the keys, after the configuration has said where.
    ...(flags.firstStart === true ? { surroundings: { hasNodeKeys: () => true } } : {}),
  }
}

async function secretsOf(dataDir: string, isFirstStart: boolean): Promise<Secrets> {
  if (!isFirstStart) return openSecrets(dataDir)
  return (await initNode({ dataDir, clock: systemClock() })).secrets
}

function edgeOptions(
  kernel: Kernel,
  adminToken: string | undefined,
  tls: ListenerTls | undefined,
): Parameters<typeof createEdge>[1] {
  return { adminToken, cursorSecret: kernel.cursorSecret(), ...(tls === undefined ? {} : { tls }) }
}

/** Says which installed plugins an error may have come from, once there is a kernel. */
interface Blamed {
  blame: (error: unknown) => readonly string[]
}

/**
 * The first SIGTERM or SIGINT, or the end of a parent that holds a channel to this process (`npm start`). Later ones change
 * nothing: a terminal sends SIGINT to every process of the group.
 */
async function endingSignal(log: KernelLog, blamed: Blamed): Promise<string> {
  const fatal = (kind: string) => (error: unknown) => {
    const folders = blamed.blame(error)
    const remedy = folders.length === 0 ? {} : { plugin_folders: folders, remedy: REMEDY }
    log.error({ err: error, ...remedy }, kind)
    log.flush()
    process.exit(1)
  }
  process.on('uncaughtException', fatal('an error was not caught'))
  process.on('unhandledRejection', fatal('a promise was not awaited'))
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, () => undefined)
  const orphaned = once(process, 'disconnect').then(() => 'its parent has ended')
  const told = signals.map(async (signal) => ((await once(process, signal)) as [string])[0])
  return await Promise.race([...told, orphaned])
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
