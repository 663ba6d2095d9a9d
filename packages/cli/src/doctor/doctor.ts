import { existsSync, readFileSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { delimiter, isAbsolute, join } from 'node:path'
import type { CapabilityNeed, Clock, Finding, Look, Settings } from '@steeple/contracts'
import {
  createKeptStates,
  isSynchronised,
  type PluginHere,
  pluginsHere,
  RAN,
  systemClock,
} from '@steeple/kernel'
import { openNodeCredentials, openSecrets } from '@steeple/secrets'
import {
  DEFAULT_CONFIG_FILE,
  isLoopback,
  type LoadedConfig,
  lineOf,
  loadConfig,
  parseListenAddress,
  readCertificateFiles,
  valueAt,
} from '@steeple/settings'
import { connect, type Json } from '../client/service.ts'
import { CommandError } from '../command-error.ts'
import { certificateStanding } from '../composition/certificate-standing.ts'
import { incompleteBuild, pluginPackages } from '../composition/plugin-packages.ts'
import { sectionsHere } from '../composition/sections.ts'
import { jsonText } from '../output/print.ts'
import { printable } from '../output/table.ts'
import { COMMAND_VARIABLES, type PlaceOptions, pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { broken, doubtful, broken as failed, healthy, reasonOf } from './check.ts'
import { checkPort, urlAt } from './check-port.ts'
import { checkDisk, checkStore } from './check-store.ts'

const ANSWER_LIMIT_MS = 5000

/** Asks systemd and the engine on a socket for every unit and container that the configuration names; changes nothing. */
async function checkRunners(looks: readonly Look[], socket: string): Promise<readonly Finding[]> {
  const runners = looks.flatMap(runnerOf)
  if (runners.length === 0) return []
  const { engineAt, systemdEngine } = await import('@steeple/southbound')
  const options = { answerMs: ANSWER_LIMIT_MS }
  const engines = { container: engineAt(socket, options), unit: systemdEngine(options) }
  const signal = AbortSignal.timeout(2 * ANSWER_LIMIT_MS)
  return await Promise.all(
    runners.map(async ({ name, key, kind, runner }) => {
      try {
        const state = await engines[kind].inspect(runner, signal)
        if (state === undefined)
          return failed(name, `there is no ${kind} ${runner}`, `create it or correct ${key}`)
        return state.isRunning
          ? healthy(name, `${kind} ${runner} is running`)
          : failed(name, `${kind} ${runner} is not running`, 'start it; its own log says why it ended')
      } catch (error) {
        return failed(name, reasonOf(error), `${START[kind]}, or change ${key}`)
      }
    }),
  )
}

const START = {
  container: 'start the engine, let this user use its socket',
  unit: 'start the system bus',
} as const

interface Runner {
  readonly name: string
  readonly key: string
  readonly kind: keyof typeof START
  readonly runner: string
}

/** What runs a daemon, where that is what is named. */
function runnerOf(look: Look): readonly Runner[] {
  const { name, key } = look
  if ('container' in look) return [{ name, key, kind: 'container', runner: look.container }]
  return 'unit' in look ? [{ name, key, kind: 'unit', runner: look.unit }] : []
}

/** Looks whether the programs that the configuration names can be executed; runs none. `path` is `$PATH`. */
async function checkPrograms(looks: readonly Look[], path: string): Promise<readonly Finding[]> {
  const programs = looks.filter((look) => 'program' in look)
  return await Promise.all(
    programs.map(async ({ name, program, key }) => {
      const found = await executable(program, path)
      return found === undefined
        ? failed(name, `${program} is not an executable file`, `install it or correct ${key}`)
        : healthy(name, `${found} can be executed`)
    }),
  )
}

/** The file that a command name means. */
async function executable(program: string, path: string): Promise<string | undefined> {
  const isPath = isAbsolute(program) || program.includes('/')
  const places = isPath ? [program] : path.split(delimiter).map((dir) => join(dir, program))
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return place
  }
  return undefined
}

/** What to do about a part of the service that is not well, by its kind. */
const REMEDIES: Readonly<Record<string, string>> = {
  core: 'start the core, or correct where it is (core_a.*, core_b.*, collector.*)',
  hss: 'start the subscriber database, or correct hss.*; what waits is pushed when it answers',
  ran: 'see docs/how-to/radio.md; svc tx status says what the gate asks',
  store: 'see the log of the service; restore the newest backup if the store is damaged',
  collector: 'start what it collects from, or correct collector.*',
}

/** The component that names plugins whose signature is not believed. */
const TRUST = 'plugins.trust'

/**
 * What the service that runs at `url` says of itself. `url` is where the doctor has just found it; `ca` the file of the CA
 * that its certificate is from, where it speaks TLS: nobody else is told a token.
 */
export async function checkService(
  terminal: Terminal,
  url: string,
  ca: string | undefined,
): Promise<readonly Finding[]> {
  try {
    const service = connect(terminal, { url, ...(ca === undefined ? {} : { ca }) })
    const parts = (await service.get('/v1/health')).data.components
    const unsigned = parts.filter(({ name }) => name === TRUST).map(unbelieved)
    const ill = parts.filter(({ name, status }) => name !== TRUST && status !== 'ok')
    if (ill.length === 0)
      return [healthy('service', `${parts.length - unsigned.length} components are well`), ...unsigned]
    return [...ill.map(illness), ...unsigned]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const isLocked = error.code === 'unauthenticated' || error.code === 'forbidden'
    const remedy = isLocked
      ? 'set SVC_TOKEN to a token with the role viewer: what runs knows best what is wrong with it'
      : 'see the log of the service'
    return [doubtful('service', `it was not asked how it is: ${error.message}`, remedy)]
  }
}

/** It runs, with all rights of the service. */
function unbelieved({ detail }: Json): Finding {
  const remedy = 'sign it (svc plugin pack) and name the key in plugins.trust, or svc plugin uninstall it'
  return doubtful('plugins', String(detail), remedy)
}

function illness({ name, kind, status, detail }: Json): Finding {
  const remedy = REMEDIES[String(kind)] ?? 'see the log of the service, and docs/'
  return failed('service', `${String(name)} is ${String(status)}: ${String(detail)}`, remedy)
}

/** Bit numbers of linux/capability.h. */
const CAPABILITIES = { CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 } as const

/** Ports below this need a capability. */
const FIRST_FREE_PORT = 1024

/** The capabilities that the configuration needs: what plugins need, and what the port does. */
function checkCapabilities(ofPlugins: readonly CapabilityNeed[], port: number): readonly Finding[] {
  const isLow = port > 0 && port < FIRST_FREE_PORT
  const ofPort: CapabilityNeed = { capability: 'CAP_NET_BIND_SERVICE', why: `port ${port}` }
  const held = heldCapabilities(readStatus())
  return [...ofPlugins, ...(isLow ? [ofPort] : [])].map(({ capability: name, why }) => {
    if (held === undefined || (held >> BigInt(CAPABILITIES[name])) & 1n)
      return healthy('capabilities', `${name} for ${why}`)
    return failed('capabilities', `${why} needs ${name}`, `give it: AmbientCapabilities=${name} in the unit`)
  })
}

/** The effective set of `/proc/<pid>/status`; undefined when it is not there. */
export function heldCapabilities(status: string): bigint | undefined {
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  return hex === undefined ? undefined : BigInt(`0x${hex}`)
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}

const DAY_MS = 86_400_000
/** Renewed at half of 30 days: one with a week left was not renewed. */
const WARN_DAYS = 7

/** Keys, their modes, and the node's certificate. */
function checkKeys(settings: Settings, clock: Clock): readonly Finding[] {
  try {
    const { identity, directory, keyring } = openSecrets(settings.server.data_dir)
    const leftDays = Math.floor((identity.certificateExpiresAtMs - clock.nowMs()) / DAY_MS)
    const checks = [healthy('keys', `node ${identity.nodeId} (${identity.name}) in ${directory}`)]
    checks.push(certificate(leftDays))
    if (keyring.replaced.length > 0)
      checks.push(doubtful('vault', 'a rotation was broken off', 'finish it: svc vault rotate'))
    return checks
  } catch (error) {
    return [failed('keys', reasonOf(error), 'svc node init makes keys where there are none')]
  }
}

function certificate(leftDays: number): Finding {
  if (leftDays < 0)
    return doubtful('certificate', "the node's certificate has expired", 'start the service: it renews it')
  if (leftDays < WARN_DAYS)
    return doubtful('certificate', `it expires in ${leftDays} days`, 'keep the service running: it renews it')
  return healthy('certificate', `valid for ${leftDays} days`)
}

const CONNECT_LIMIT_MS = 3000

/** Connects to everything that the configuration names; sends nothing. */
function checkReach(looks: readonly Look[]): Promise<readonly Finding[]> {
  return Promise.all(looks.filter((look) => 'url' in look).map(reach))
}

function reach({ name, url, key }: Look & { readonly url: string }): Promise<Finding> {
  return new Promise((resolve) => {
    const { hostname, port, protocol } = new URL(url)
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
    const host = hostname.replaceAll(/[[\]]/g, '')
    const socket = createConnection({ host, port: number, timeout: CONNECT_LIMIT_MS })
    const end = (finding: Finding): void => {
      socket.destroy()
      resolve(finding)
    }
    const fail = (why: string): void =>
      end(failed(name, `${hostname}:${number}: ${why}`, `start it or correct ${key}`))
    socket.on('connect', () => end(healthy(name, `${hostname}:${number} takes connections`)))
    socket.on('timeout', () => fail('no answer in 3 s'))
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
  })
}

/** A clock before this has not been set. */
const EARLIEST_MS = Date.UTC(2025, 0, 1)
/** The CA of a box lives ten years: a clock after this is as wrong as one that was never set. */
const LATEST_MS = Date.UTC(2100, 0, 1)

/** Whether the clock can be true, and whether something keeps it so. */
async function checkClock(clock: Clock): Promise<Finding> {
  const nowMs = clock.nowMs()
  const now = new Date(nowMs).toISOString()
  if (nowMs < EARLIEST_MS || nowMs > LATEST_MS)
    return failed('clock', `it says ${now}`, 'set it; tokens, certificates and the audit trail depend on it')
  const synchronised = await isSynchronised()
  if (synchronised === undefined) return healthy('clock', `${now}; whether NTP keeps it cannot be seen here`)
  if (synchronised) return healthy('clock', `${now}, kept by NTP`)
  return doubtful('clock', `${now}, not kept by NTP`, 'switch it on: timedatectl set-ntp true')
}

/** Flags of `svc doctor`: those of the service that change what it finds. */
export interface DoctorOptions extends PlaceOptions {
  readonly listen?: string
  readonly json?: boolean
}

/** `svc doctor`: every check with what to do about it; exit code 1 when one fails. */
export async function runDoctor(terminal: Terminal, options: DoctorOptions): Promise<void> {
  const checks = await examine(terminal, options)
  const isOk = checks.every((check) => check.status !== 'fail')
  if (options.json === true) terminal.out(jsonText({ ok: isOk, checks }))
  else terminal.out(checks.map(linesOf).join(''))
  if (!isOk) terminal.answer(1)
}

export async function examine(terminal: Terminal, options: DoctorOptions): Promise<readonly Finding[]> {
  const { checks, loaded } = readConfig(terminal, options)
  const ofPlace = loaded === undefined ? [] : await checkPlace(terminal, loaded)
  return [...checks, await checkClock(systemClock()), ...ofPlace]
}

async function checkPlace(terminal: Terminal, loaded: LoadedConfig): Promise<readonly Finding[]> {
  const { settings } = loaded
  const clock = systemClock()
  // The configuration's own check has let it through.
  const address = parseListenAddress(settings.server.listen) ?? { host: '0.0.0.0', port: 0 }
  const packages = pluginPackages()
  const plugins = await pluginsHere({ packages, pluginsDir: pluginsDirOf(settings) }, settings)
  const checkup = (await Promise.all(plugins.map((plugin) => checkPlugin(plugin, loaded)))).flat()
  const looks = checkup.filter((one) => 'key' in one)
  const isTls = settings.tls.enabled
  const { check: port, isOurs } = await checkPort(address, isTls)
  return [
    ...checkKeys(settings, clock),
    ...checkTransport(settings, clock),
    await checkStore(terminal, settings, clock),
    await checkDisk(settings),
    ...checkPlugins(settings, packages),
    ...(await checkRunners(looks, settings.hss.engine_socket)),
    ...(await checkPrograms(looks, terminal.env.PATH ?? '')),
    ...(await checkReach(looks)),
    ...checkup.filter((one) => 'status' in one),
    ...checkCapabilities(
      checkup.filter((one) => 'capability' in one),
      address.port,
    ),
    port,
    ...(isOurs ? await checkService(terminal, urlAt(address, isTls), caFileOf(settings, terminal)) : []),
  ]
}

/** What a plugin has for the doctor; one that fails here says so, and the others go on. */
async function checkPlugin(
  { manifest, section, load }: PluginHere,
  { settings, problemsOf }: LoadedConfig,
): Promise<readonly (Finding | Look | CapabilityNeed)[]> {
  const { id } = manifest
  // What is wrong with its configuration is said elsewhere.
  if (problemsOf(id).length > 0) return []
  try {
    const { doctor } = await load()
    return (await doctor?.({ config: valueAt(settings, section.configPath.split('.')), settings })) ?? []
  } catch (error) {
    return [
      failed(
        'plugins',
        `${id}: ${reasonOf(error)}`,
        `svc plugin load ${id} says whether the service can load it`,
      ),
    ]
  }
}

/**
 * The file of the CA that the box presents itself by. Undefined for plain HTTP, and where another one has made its certificate:
 * then SVC_CA, or the machine, says whom to believe.
 */
function caFileOf(settings: Settings, { env }: Terminal): string | undefined {
  const { tls, server } = settings
  const keys = join(server.data_dir, 'keys')
  const isOwn = tls.enabled && tls.cert_file === '' && !existsSync(join(keys, 'mesh', 'mesh.json'))
  return isOwn && (env.SVC_CA ?? '') === '' ? join(keys, 'mesh-ca.pem') : undefined
}

function readConfig(
  terminal: Terminal,
  options: DoctorOptions,
): { readonly checks: readonly Finding[]; readonly loaded?: LoadedConfig } {
  const file = options.config ?? DEFAULT_CONFIG_FILE
  try {
    const source = {
      ...(options.config === undefined ? {} : { file: options.config }),
      env: terminal.env,
      flags: {
        ...(options.dataDir === undefined ? {} : { '--data-dir': options.dataDir }),
        ...(options.listen === undefined ? {} : { '--listen': options.listen }),
      },
      knownVariables: COMMAND_VARIABLES,
    }
    const loaded = loadConfig({ ...source, sections: sectionsHere(source) })
    const { warnings, problemsOf, sections } = loaded
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) =>
      problemsOf(plugin).map((problem) =>
        failed('config', lineOf(problem), `the plugin ${plugin} waits for it; set it and send SIGHUP`),
      ),
    )
    const odd = warnings.map((warning) => doubtful('config', warning, 'correct it or leave it out'))
    return {
      loaded,
      checks: [
        ...wrong,
        healthy('config', existsSync(file) ? file : `defaults; there is no ${file}`),
        ...odd,
      ],
    }
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).split('\n')
    const remedy = 'correct it; svc config check FILE looks again. What depends on it was not checked.'
    return { checks: lines.map((line) => failed('config', line, remedy)) }
  }
}

function linesOf({ name, status, detail, remedy }: Finding): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(12)}  ${printable(detail)}\n`
  return remedy === undefined ? first : `${first}${' '.repeat(20)}${printable(remedy)}\n`
}

/** What the next start goes without: installed versions that failed or ended the service, and what somebody disabled. */
function checkPlugins(settings: Settings, packages: readonly string[]): readonly Finding[] {
  const incomplete = incompleteBuild(packages)
  if (incomplete !== undefined) return [broken('plugins', incomplete, 'the service does not start like this')]
  const dir = pluginsDirOf(settings)
  const states = [...createKeptStates(dir, undefined).all()]
  const failed = states.flatMap(([id, { loads = {} }]) =>
    Object.entries(loads)
      .filter(([, outcome]) => outcome !== RAN)
      .map(([folder, reason]) =>
        doubtful(
          'plugins',
          `${folder} is not loaded: ${reason}`,
          `svc plugin load ${id} tries it again, svc plugin uninstall ${id} takes it out (--offline while the service is down)`,
        ),
      ),
  )
  const off = states.flatMap(([id, { isDisabled }]) => (isDisabled === true ? [id] : []))
  const detail = off.length === 0 ? '' : `; disabled: ${off.join(', ')}`
  return failed.length > 0 ? failed : [healthy('plugins', `no installed one in ${dir} has failed${detail}`)]
}

/** What the listener presents, and who may listen in where it presents nothing. */
export function checkTransport(settings: Settings, clock: Clock): readonly Finding[] {
  const { tls, server } = settings
  if (!tls.enabled) return [checkPlain(server.listen)]
  const { cert_file, key_file } = tls
  const shown = cert_file === '' ? ofNode(server.data_dir) : readCertificateFiles(cert_file, key_file)
  if (shown === undefined) return []
  if ('file' in shown)
    return [
      failed(
        'transport',
        `tls.${shown.file} ${shown.message}`,
        'correct the file; the service looks again by itself',
      ),
    ]
  const from = cert_file === '' ? 'its own certificate' : cert_file
  const remedy =
    cert_file === ''
      ? 'keep the service running: it renews it'
      : 'renew it; the service looks at the file by itself'
  return [judge(shown.cert, from, remedy, clock)]
}

/** Tokens and passwords cross a network in the clear. */
function checkPlain(listen: string): Finding {
  const host = parseListenAddress(listen)?.host ?? ''
  if (isLoopback(host)) return healthy('transport', 'plain HTTP, on this machine alone')
  return doubtful(
    'transport',
    'plain HTTP: anyone on the network can read tokens and passwords',
    'set tls.enabled, or put server.listen on 127.0.0.1',
  )
}

/** Keys that cannot be opened are the business of another check. */
function ofNode(dataDir: string): { readonly cert: string } | undefined {
  try {
    return openNodeCredentials(openSecrets(dataDir)).tls()
  } catch {
    return undefined
  }
}

function judge(pem: string, from: string, remedy: string, clock: Clock): Finding {
  const { state, leftDays, validFrom } = certificateStanding(pem, clock.nowMs())
  if (state === 'early')
    return doubtful('transport', `${from} is good from ${validFrom} on`, 'check the clock')
  if (state === 'expired') return failed('transport', `${from} has expired`, remedy)
  if (state === 'ending') return doubtful('transport', `${from} ends in ${leftDays} days`, remedy)
  return healthy('transport', `TLS with ${from}, good for ${leftDays} days`)
}
