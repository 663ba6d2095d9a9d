import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createEdge, type Edge } from '@steeple/api'
import {
  type ConfigOptions,
  createKernel,
  createLog,
  initNode,
  type Kernel,
  type KernelLog,
  type LoadedConfig,
  loadConfig,
  openSecrets,
  pluginConfigPaths,
  type Secrets,
  systemClock,
} from '@steeple/kernel'
import { pluginPackages } from './composition/plugin-packages.ts'
import { introduce } from './first-start.ts'
import type { ServeOptions, ServiceFlags } from './flags.ts'
import { COMMAND_VARIABLES } from './place.ts'
import { ownVersion } from './version.ts'

/** A shutdown that takes longer is cut off: plugins have 5 s to drain and 5 s to stop. */
const SHUTDOWN_LIMIT_MS = 15_000

/** How long the listener waits for installed plugins; those that take longer appear when they are ready. */
const INSTALLED_HEAD_START_MS = 100

/**
 * Runs the service until SIGTERM or SIGINT; resolves with the exit code.
 *
 * Throws what keeps it from starting: `config_invalid`, `secrets_invalid`, `store_invalid`, `data_dir_in_use`,
 * `plugin_failed` of an essential plugin.
 */
export async function serve({ flags }: ServeOptions): Promise<number> {
  // Whatever the service makes is its own: the store, locks, batches.
  process.umask(0o077)
  const packages = pluginPackages()
  const source = configSource(flags, packages)
  const config = loadConfig(source)
  const { server } = config.settings
  const clock = systemClock()
  const log = createLog({ level: server.log_level, format: server.log_format, clock })
  for (const warning of config.warnings) log.warn({ warning }, 'configuration is odd')
  const ending = endingSignal(log)
  const secrets = await secretsOf(server.data_dir, flags.firstStart === true)
  const kernel = await createKernel({
    config,
    secrets,
    log,
    clock,
    version: ownVersion(),
    packages,
  })
  let edge: Edge | undefined
  try {
    edge = createEdge(kernel, edgeOptions(config, kernel, secrets))
    kernel.attach(edge)
    await kernel.registry.loadBundled()
    // What was installed may hang: most of it is ready before anybody asks, none of it keeps the service from serving.
    await Promise.race([kernel.registry.loadInstalled(), delay(INSTALLED_HEAD_START_MS)])
    const address = await edge.listen()
    kernel.begin()
    const url = urlOf(address, config.settings.tls.enabled)
    log.info({ url, version: kernel.info.version, mode: server.mode, data_dir: server.data_dir }, 'listening')
    log.flush()
    if (flags.firstStart === true) await introduce(kernel, url)
    process.on('SIGHUP', () => void reload(kernel, source, log))
    const signal = await ending
    log.info({ signal }, 'stopping')
    return 0
  } finally {
    setTimeout(() => process.exit(1), SHUTDOWN_LIMIT_MS).unref()
    await edge?.close()
    await kernel.close()
    log.info({}, 'stopped')
    log.close()
  }
}

function configSource(flags: ServiceFlags, packages: readonly string[]): ConfigOptions {
  const source: ConfigOptions = {
    ...(flags.config === undefined ? {} : { file: flags.config }),
    env: process.env,
    knownVariables: COMMAND_VARIABLES,
    flags: {
      ...(flags.dataDir === undefined ? {} : { '--data-dir': flags.dataDir }),
      ...(flags.listen === undefined ? {} : { '--listen': flags.listen }),
      ...(flags.logLevel === undefined ? {} : { '--log-level': flags.logLevel }),
    },
    // The first start makes the keys, after the configuration has said where.
    ...(flags.firstStart === true ? { surroundings: { hasNodeKeys: () => true } } : {}),
  }
  return { ...source, extraSchemas: pluginConfigPaths(source, packages) }
}

async function secretsOf(dataDir: string, isFirstStart: boolean): Promise<Secrets> {
  if (!isFirstStart) return openSecrets(dataDir)
  return (await initNode({ dataDir, clock: systemClock() })).secrets
}

function edgeOptions(
  config: LoadedConfig,
  kernel: Kernel,
  secrets: Secrets,
): Parameters<typeof createEdge>[1] {
  const { tls, auth } = config.settings
  const adminToken = process.env[auth.admin_token_env]
  return {
    adminToken: adminToken === '' ? undefined : adminToken,
    cursorSecret: kernel.cursorSecret(),
    ...(tls.enabled ? { tls: secrets.tls() } : {}),
  }
}

/** The first SIGTERM or SIGINT. Later ones change nothing: a terminal sends SIGINT to every process of the group. */
async function endingSignal(log: KernelLog): Promise<string> {
  const fatal = (kind: string) => (error: unknown) => {
    log.error({ err: error }, kind)
    log.flush()
    process.exit(1)
  }
  process.on('uncaughtException', fatal('an error was not caught'))
  process.on('unhandledRejection', fatal('a promise was not awaited'))
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, () => undefined)
  return await Promise.race(signals.map(async (signal) => ((await once(process, signal)) as [string])[0]))
}

async function reload(kernel: Kernel, source: ConfigOptions, log: KernelLog): Promise<void> {
  try {
    await kernel.reload(loadConfig(source))
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
