import { createHash, createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createEdge, type Edge, type EdgeTls, type TlsMaterial } from '@steeple/api'
import {
  type ComponentHealth,
  configInvalid,
  type Launcher,
  type Log,
  type NodeCredentials,
  nodeCredentialsRef,
  type Settings,
} from '@steeple/contracts'
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
  type CertificateFiles,
  type ConfigOptions,
  createSchemaCompiler,
  DEFAULT_CONFIG_FILE,
  type LoadedConfig,
  loadConfig,
  planSettings,
  readCertificateFiles,
  writeSettings,
} from '@steeple/settings'
import { failure } from './command-error.ts'
import { certificateStanding } from './composition/certificate-standing.ts'
import { incompleteBuild, pluginPackages } from './composition/plugin-packages.ts'
import { sectionsHere } from './composition/sections.ts'
import type { ServeOptions, ServiceFlags } from './flags.ts'
import { packageRoot } from './package-root.ts'
import { COMMAND_VARIABLES } from './place.ts'
import { type ProcessWatch, watchProcess } from './process-watch.ts'
import { buildDate, ownVersion } from './version.ts'

/** How often the given files are looked at: notices of changes get lost where folders are links that are replaced. */
const LOOK_MS = 5_000

/** The listener's TLS, and how to stop looking at its files. */
interface ListenerTls extends EdgeTls {
  close(): void
  /** One component, `listener`: degraded a week before what it presents ends, and while its files cannot be used. */
  health(nowMs: number): readonly ComponentHealth[]
}

/** What of the kernel says what to present. */
export type ListenerKernel = Pick<Kernel, 'settings' | 'onSettings' | 'service'> & { readonly log: Log }

/**
 * What the listener presents: `tls.cert_file` where it is set, otherwise (and always to other boxes) the node's own
 * certificate; and whom it believes. Files that are damaged or half written leave what was there before.
 *
 * Throws `config_invalid` when the files cannot be used at the start.
 */
export function listenerTls(kernel: ListenerKernel, secrets: Pick<Secrets, 'tls' | 'caPem'>): ListenerTls {
  const listeners = new Set<() => void>()
  let material = materialNow(kernel, secrets)
  let complaint: string | undefined
  const look = (): void => {
    try {
      const now = materialNow(kernel, secrets)
      complaint = undefined
      if (digestOf(now) === digestOf(material)) return
      material = now
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== complaint)
        kernel.log.error({ problem }, 'the listener keeps the certificate that it has')
      complaint = problem
      return
    }
    kernel.log.info({}, 'the listener presents another certificate')
    for (const listener of listeners) listener()
  }
  const unfollow = identityOf(kernel)?.onChange(look)
  kernel.onSettings(look)
  const timer = setInterval(look, LOOK_MS).unref()
  return {
    minVersion: kernel.settings.tls.min_version,
    material: () => material,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    health: (nowMs) => {
      const problem = complaint ?? problemOf(kernel, material, nowMs)
      const status = problem === undefined ? 'ok' : 'degraded'
      return [
        {
          name: 'listener',
          kind: 'feature',
          required: false,
          status,
          detail: problem ?? 'what it presents is good',
        },
      ]
    },
    close: () => {
      clearInterval(timer)
      unfollow?.()
    },
  }
}

/** Of people and of other boxes: what is presented to either may end. */
function problemOf(kernel: ListenerKernel, { cert, boxes }: TlsMaterial, nowMs: number): string | undefined {
  const file = kernel.settings.tls.cert_file
  const ofNode = ['its own certificate', boxes?.cert ?? cert, 'the service renews it by itself'] as const
  const shown = boxes === undefined ? [ofNode] : [[file, cert, 'renew it'] as const, ofNode]
  for (const [name, pem, remedy] of shown) {
    const { state, leftDays, validFrom } = certificateStanding(pem, nowMs)
    if (state === 'early') return `${name} is good from ${validFrom} on; check the clock`
    if (state === 'expired') return `${name} has expired; ${remedy}`
    if (state === 'ending') return `${name} ends in ${leftDays} days; ${remedy}`
  }
  return undefined
}

function identityOf(kernel: ListenerKernel): NodeCredentials | undefined {
  return kernel.service(nodeCredentialsRef)
}

/** Throws `config_invalid`. */
function materialNow(kernel: ListenerKernel, secrets: Pick<Secrets, 'tls' | 'caPem'>): TlsMaterial {
  const files = filesNow(kernel)
  const identity = identityOf(kernel)
  const nodesCa = identity?.membership()?.caPem ?? secrets.caPem
  const { key, cert } = identity?.tls() ?? secrets.tls()
  // Who joins is given the hash of the CA and no more: the CA goes out with the certificate.
  const ofNode = { key, cert: chainOf(cert, nodesCa) }
  const cas = { nodesCa, operatorsCa: secrets.caPem }
  return files === undefined ? { ...ofNode, ...cas } : { ...files, boxes: ofNode, ...cas }
}

function filesNow(kernel: ListenerKernel): CertificateFiles | undefined {
  const { cert_file, key_file } = kernel.settings.tls
  if (cert_file === '') return undefined
  const read = readCertificateFiles(cert_file, key_file)
  if ('file' in read) throw configInvalid(`tls.${read.file} ${read.message}`)
  return read
}

function chainOf(cert: string, ca: string): string {
  return cert.includes(ca.trim()) ? cert : `${cert.trimEnd()}\n${ca}`
}

/** What is compared without keeping a second copy of a key. */
function digestOf(material: TlsMaterial): string {
  return createHash('sha256').update(JSON.stringify(material)).digest('hex')
}

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
const PLACES = ['../../../../share/doc/html/', '../../docs/site/dist/']

/** The folder of the documentation that this build carries; undefined when it carries none. */
function documentationHere(): string | undefined {
  return PLACES.map((place) => fileURLToPath(new URL(place, packageRoot()))).find((folder) =>
    existsSync(join(folder, 'index.html')),
  )
}

/** The exit code when the launcher is to run another build: no success, so that whoever has started it does so again. EX_TEMPFAIL. */
const LAUNCH_AGAIN = 75

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
    const code = await serveOnce({ flags, packages, watch, isFirst })
    if (code !== undefined) return code
  }
}

interface Run {
  readonly flags: ServiceFlags
  readonly packages: readonly string[]
  readonly watch: ProcessWatch
  readonly isFirst: boolean
}

/** Serves until the process is to end, with that code, or until another state is to be served (undefined). */
async function serveOnce({ flags, packages, watch, isFirst }: Run): Promise<number | undefined> {
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
    ...launchedBy(process.env),
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
    if (why === 'state') log.info({}, 'starting anew')
    else log.info(why === 'build' ? { for: 'another build' } : { signal: why }, 'stopping')
    return why === 'state' ? undefined : why === 'build' ? LAUNCH_AGAIN : 0
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

/** What `bin/launch` says of itself and of the build that it runs. */
function launchedBy({ STEEPLE_LAUNCH: folder, STEEPLE_BUILD: running }: NodeJS.ProcessEnv): {
  readonly launchedBy?: Omit<Launcher, 'relaunch'>
} {
  if (folder === undefined || running === undefined) return {}
  // This package is in lib/node_modules/@steeple of a build.
  return { launchedBy: { folder, running, root: fileURLToPath(new URL('../../../../', packageRoot())) } }
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
      path: source.file ?? DEFAULT_CONFIG_FILE,
      plan: (changes, found) => {
        // A file that has gone since the start is one to be written again.
        const readable = existsSync(source.file ?? DEFAULT_CONFIG_FILE)
          ? source
          : { ...source, readFile: () => '' }
        return planSettings({ ...readable, sections: sectionsHere(readable) }, changes, found)
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
