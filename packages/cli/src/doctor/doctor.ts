import { existsSync, readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { basename, join } from 'node:path'
import type { Clock, Settings } from '@steeple/contracts'
import { createKeptStates, isSynchronised, RAN, systemClock } from '@steeple/kernel'
import { openSecrets } from '@steeple/secrets'
import { DEFAULT_CONFIG_FILE, lineOf, loadConfig, parseListenAddress } from '@steeple/settings'
import { incompleteBuild, pluginPackages, sectionsHere } from '../composition/plugin-packages.ts'
import { jsonText } from '../output/print.ts'
import { printable } from '../output/table.ts'
import { COMMAND_VARIABLES, type PlaceOptions, pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { broken, type Check, doubtful, broken as failed, healthy, reasonOf } from './check.ts'
import { checkContainers, checkPrograms } from './check-containers.ts'
import { checkPort, urlAt } from './check-port.ts'
import { checkService } from './check-service.ts'
import { checkDisk, checkStore } from './check-store.ts'
import { checkTransport } from './check-transport.ts'
import type { DoctorPart, Need, Neighbour } from './doctor-part.ts'
import { part as collectorCdr } from './parts/collector-cdr.ts'
import { part as collectorGtpu } from './parts/collector-gtpu.ts'
import { part as collectorMme } from './parts/collector-mme.ts'
import { part as driverCoreA } from './parts/driver-core-a.ts'
import { part as driverCoreB } from './parts/driver-core-b.ts'
import { part as driverHss } from './parts/driver-hss.ts'
import { part as driverRan } from './parts/driver-ran.ts'
import { part as mesh } from './parts/mesh.ts'

/** Bit numbers of linux/capability.h. */
const CAPABILITIES = { CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 } as const

/** Ports below this need a capability. */
const FIRST_FREE_PORT = 1024

/** The capabilities that the configuration needs: what parts of the build need, and what the port does. */
function checkCapabilities(ofParts: readonly Need[], port: number): readonly Check[] {
  const isLow = port > 0 && port < FIRST_FREE_PORT
  const needs: readonly Need[] = [
    ...ofParts,
    { capability: 'CAP_NET_BIND_SERVICE', isNeeded: isLow, why: `port ${port}` },
  ]
  const held = heldCapabilities(readStatus())
  return needs
    .filter(({ isNeeded }) => isNeeded)
    .map(({ capability: name, why }) => {
      if (held === undefined || (held >> BigInt(CAPABILITIES[name])) & 1n)
        return healthy('capabilities', `${name} for ${why}`)
      return failed(
        'capabilities',
        `${why} needs ${name}`,
        `give it: AmbientCapabilities=${name} in the unit`,
      )
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
function checkKeys(settings: Settings, clock: Clock): readonly Check[] {
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

function certificate(leftDays: number): Check {
  if (leftDays < 0)
    return doubtful('certificate', "the node's certificate has expired", 'start the service: it renews it')
  if (leftDays < WARN_DAYS)
    return doubtful('certificate', `it expires in ${leftDays} days`, 'keep the service running: it renews it')
  return healthy('certificate', `valid for ${leftDays} days`)
}

/** In the order in which people read what they find. */
const PARTS: readonly DoctorPart[] = [
  driverHss,
  driverCoreA,
  driverCoreB,
  driverRan,
  collectorMme,
  collectorCdr,
  collectorGtpu,
  mesh,
]

/** What the doctor looks at for the plugins of this build, by their folders. */
function doctorParts(packages: readonly string[]): readonly DoctorPart[] {
  const names = new Set(packages.map((folder) => basename(folder)))
  return PARTS.filter(({ of }) => of !== undefined && names.has(of))
}

const CONNECT_LIMIT_MS = 3000

/** Connects to everything that the configuration names; sends nothing. */
function checkReach(neighbours: readonly Neighbour[]): Promise<readonly Check[]> {
  return Promise.all(neighbours.map(reach))
}

function reach(neighbour: Neighbour): Promise<Check> {
  return new Promise((resolve) => {
    const socket = createConnection({ ...neighbour.connect, timeout: CONNECT_LIMIT_MS })
    const end = (check: Check): void => {
      socket.destroy()
      resolve(check)
    }
    const fail = (why: string): void =>
      end(failed(neighbour.name, `${neighbour.at}: ${why}`, neighbour.remedy))
    socket.on('connect', () => end(healthy(neighbour.name, `${neighbour.at} takes connections`)))
    socket.on('timeout', () => fail('no answer in 3 s'))
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
  })
}

/** A clock before this has not been set. */
const EARLIEST_MS = Date.UTC(2025, 0, 1)
/** Certificates of the mesh live ten years: a clock after this is as wrong as one that was never set. */
const LATEST_MS = Date.UTC(2100, 0, 1)

/** Whether the clock can be true, and whether something keeps it so. */
async function checkClock(clock: Clock): Promise<Check> {
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

/** Every check. */
export async function examine(terminal: Terminal, options: DoctorOptions): Promise<readonly Check[]> {
  const { checks, settings } = readConfig(terminal, options)
  const ofPlace = settings === undefined ? [] : await checkPlace(terminal, settings)
  return [...checks, await checkClock(systemClock()), ...ofPlace]
}

async function checkPlace(terminal: Terminal, settings: Settings): Promise<readonly Check[]> {
  const clock = systemClock()
  // The configuration's own check has let it through.
  const address = parseListenAddress(settings.server.listen) ?? { host: '0.0.0.0', port: 0 }
  const packages = pluginPackages()
  const parts = doctorParts(packages)
  const containers = parts.flatMap((part) => part.containers?.(settings) ?? [])
  const programs = parts.flatMap((part) => part.programs?.(settings) ?? [])
  const neighbours = parts.flatMap((part) => part.neighbours?.(settings) ?? [])
  const needs = parts.flatMap((part) => part.needs?.(settings) ?? [])
  const more = await Promise.all(parts.map(async (part) => (await part.checks?.(settings, packages)) ?? []))
  const isTls = settings.tls.enabled
  const { check: port, isOurs } = await checkPort(address, isTls)
  return [
    ...checkKeys(settings, clock),
    ...checkTransport(settings, clock),
    await checkStore(terminal, settings, clock),
    await checkDisk(settings),
    ...checkPlugins(settings, packages),
    ...(await checkContainers(containers.length === 0 ? '' : settings.hss.engine_socket, containers)),
    ...(await checkPrograms(programs, terminal.env.PATH ?? '')),
    ...(await checkReach(neighbours)),
    ...more.flat(),
    ...checkCapabilities(needs, address.port),
    port,
    ...(isOurs ? await checkService(terminal, urlAt(address, isTls), caFileOf(settings, terminal)) : []),
  ]
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
): { readonly checks: readonly Check[]; readonly settings?: Settings } {
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
    const { settings, warnings, problemsOf, sections } = loadConfig({
      ...source,
      sections: sectionsHere(source),
    })
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) =>
      problemsOf(plugin).map((problem) =>
        failed('config', lineOf(problem), `the plugin ${plugin} waits for it; set it and send SIGHUP`),
      ),
    )
    const odd = warnings.map((warning) => doubtful('config', warning, 'correct it or leave it out'))
    return {
      settings,
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

function linesOf({ name, status, detail, remedy }: Check): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(12)}  ${printable(detail)}\n`
  return remedy === undefined ? first : `${first}${' '.repeat(20)}${printable(remedy)}\n`
}

/** What the next start goes without: installed versions that failed or ended the service, and what somebody disabled. */
function checkPlugins(settings: Settings, packages: readonly string[]): readonly Check[] {
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
