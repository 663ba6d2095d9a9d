import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkConfig, DEFAULT_CONFIG_FILE } from '@steeple/settings'
import { bundledManifests } from './composition/plugin-packages.ts'
import { sectionsHere } from './composition/sections.ts'
import { COMMAND_VARIABLES } from './place.ts'
import type { Terminal } from './terminal.ts'
import { buildRecord } from './version.ts'

/** What `svc lab` takes: flags of the service, and whether a lab core runs beside it. */
export interface LabOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly listen?: string
  readonly logLevel?: string
  readonly safeMode?: boolean
  /** False by `--no-core`. */
  readonly core: boolean
}

/** The lab core that runs beside the service, and what the service is told of it. */
interface LabCore {
  readonly child: ChildProcess
  readonly env: NodeJS.ProcessEnv
  isEnding: boolean
}

/** What the lab core says once it serves. */
interface Told {
  readonly urls: { readonly control: string; readonly mme: string; readonly smf: string }
  readonly tunnels: { readonly core: { readonly host: string; readonly port: number } }
}

/** Beside the data, where the machine has none: what is set in the console stands there. */
const OWN_CONFIG = 'control.yaml'
const OWN_CONFIG_BEGINS =
  '# Read by svc lab (npm start); the console writes it. Keys: docs/reference/configuration.md\n'
/** TS 29.281 §4.4.2.3. */
const GTPU_PORT = 2152
/** So often in a minute the service is started again that something has ended. */
const STARTS_IN_A_ROW = 5
const CORE_PATIENCE_MS = 2_000

/**
 * Runs the service with a lab core beside it, or without where there is none, each a process of its own; starts the service again when
 * something has ended it. Resolves with the service's exit code. All end with this process, however that ends.
 */
export async function runLab(terminal: Terminal, options: LabOptions, programs?: string): Promise<number> {
  // A configuration says itself which core it has, and where its data is when no flag does.
  if (options.config !== undefined)
    return await supervise(serviceFlags(options), { ...logFormat(), ...terminal.env })
  const dataDir = resolve(terminal.cwd, options.dataDir ?? terminal.env.SVC_SERVER_DATADIR ?? 'data')
  const config = ownConfig(dataDir)
  const isAsked = options.core && terminal.env.SVC_HSS_DRIVER === undefined && programs !== undefined
  const lab = isAsked ? await startLabCore(terminal.env, { dataDir, config, programs }) : undefined
  // A newcomer has no core: without a word on the HSS there is none to push to.
  const env = { SVC_HSS_DRIVER: 'none', ...logFormat(), ...terminal.env, ...lab?.env }
  const flags = serviceFlags({ ...options, dataDir, ...(config === undefined ? {} : { config }) })
  try {
    return await supervise(flags, env)
  } finally {
    if (lab !== undefined) await endLabCore(lab)
  }
}

/** On a terminal the log is for people. */
function logFormat(): NodeJS.ProcessEnv {
  return process.stdout.isTTY === true ? { SVC_SERVER_LOGFORMAT: 'console' } : {}
}

function serviceFlags({ config, dataDir, listen, logLevel, safeMode }: LabOptions): readonly string[] {
  const named = { '--config': config, '--data-dir': dataDir, '--listen': listen, '--log-level': logLevel }
  return [
    '--first-start',
    ...Object.entries(named).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...(safeMode === true ? ['--safe-mode'] : []),
  ]
}

/** A configuration beside the data, which needs no rights of the machine's; none where the machine has one. */
function ownConfig(dataDir: string): string | undefined {
  if (existsSync(DEFAULT_CONFIG_FILE)) return undefined
  const file = join(dataDir, OWN_CONFIG)
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    if (!existsSync(file)) writeFileSync(file, OWN_CONFIG_BEGINS, { mode: 0o600 })
    return file
  } catch {
    // The service says better what is wrong with its directory.
    return undefined
  }
}

/** Flags for the PLMN and TAC that the service will have; none where it refuses its configuration, and then says why. */
function networkFlags(env: Terminal['env'], config: string | undefined): readonly string[] {
  const file = config ?? (existsSync(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : '/dev/null')
  const source = { file, env, knownVariables: COMMAND_VARIABLES }
  const { network } = checkConfig({ ...source, sections: sectionsHere(source) })
  if (network === undefined) return []
  return ['--plmn', network.plmn.mcc + network.plmn.mnc, '--tac', String(network.tac)]
}

/** Starts the lab core. Undefined when it cannot start, which is told: the service starts without. */
async function startLabCore(
  env: Terminal['env'],
  place: { readonly dataDir: string; readonly config: string | undefined; readonly programs: string },
): Promise<LabCore | undefined> {
  const directory = join(place.dataDir, 'lab-core')
  // The kernel counts what goes over the tunnels; without the right to its rules, the lab core writes down what it sends.
  const capture = mayUseNft(env) ? undefined : join(directory, 'gtpu.pcap')
  const child = spawn(
    process.execPath,
    [
      ...[join(place.programs, 'main.js'), 'serve', '--dir', directory],
      ...networkFlags(env, place.config),
      ...(capture === undefined ? [] : ['--capture', capture]),
      ...(env.LAB_CORE_FLAGS?.split(' ').filter((flag) => flag !== '') ?? []),
    ],
    { env: { ...env }, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  )
  const told = await new Promise<Told | { readonly problem: string }>((answer) => {
    // A program of this build.
    child.once('message', (message) => answer(message as Told))
    child.once('error', ({ message }) => answer({ problem: message }))
    child.once('exit', (code) => answer({ problem: `it ended with ${code}` }))
  })
  if ('problem' in told) {
    say(`no lab core (${told.problem}); the service starts without`)
    return undefined
  }
  const lab = { child, env: serviceEnvironment(env, { ...place, directory, told, capture }), isEnding: false }
  child.on('exit', () => {
    if (!lab.isEnding) say('the lab core has ended; the service goes on without')
  })
  return lab
}

interface Beside {
  readonly programs: string
  readonly directory: string
  readonly told: Told
  /** The lab core's own capture, where rules of the kernel cannot be had. */
  readonly capture: string | undefined
}

/** Where the lab core is, for the service; what the environment says already counts. */
function serviceEnvironment(env: Terminal['env'], beside: Beside): NodeJS.ProcessEnv {
  const { programs, directory, told, capture } = beside
  const manifests = bundledManifests().map(({ steeple }) => steeple)
  // A tap knows GTP-U by its port.
  const isTapped = manifests.some(({ id }) => id === 'collector-gtpu') && told.tunnels.core.port === GTPU_PORT
  const isDecided = env.SVC_COLLECTOR_UPF_ENABLED !== undefined
  const isOurs = isTapped && !isDecided
  return {
    SVC_CORE_A_LOG_DIR: join(directory, 'log'),
    SVC_HSS_DBCTL_PATH: join(programs, 'open5gs-dbctl.js'),
    SVC_COLLECTOR_MME_URL: told.urls.mme,
    SVC_COLLECTOR_SMF_URL: told.urls.smf,
    SVC_COLLECTOR_ENABLED: 'true',
    SVC_COLLECTOR_INTERVAL: '2s',
    ...Object.assign({}, ...manifests.map(({ lab }) => lab)),
    ...(isOurs ? { SVC_COLLECTOR_UPF_CORE_ADDRESSES: told.tunnels.core.host } : {}),
    ...(isOurs && capture === undefined ? { SVC_COLLECTOR_UPF_IFACE: 'lo' } : {}),
    ...env,
    ...(isOurs ? { SVC_COLLECTOR_UPF_ENABLED: 'true' } : {}),
    // Its rules go with the lab.
    STEEPLE_LAB_TAP: String(isOurs && capture === undefined),
    ...(isOurs && capture !== undefined
      ? { SVC_COLLECTOR_UPF_DRIVER: 'file', SVC_COLLECTOR_UPF_FILE: capture }
      : {}),
    SVC_HSS_DRIVER: 'dbctl',
    LAB_CORE_DIR: directory,
    LAB_CORE_URL: told.urls.control,
    STEEPLE_WELCOME: welcomeOf(
      told.urls.control,
      isDecided ? 'counted as the environment says' : countedBy(isTapped, capture),
    ),
  }
}

function countedBy(isTapped: boolean, capture: string | undefined): string {
  if (!isTapped)
    return 'not counted: this build is without collector-gtpu, or the tunnels are at another port than 2152'
  return capture === undefined
    ? 'counted by rules of the kernel (nft) on the loopback interface'
    : 'counted from a capture that the lab core writes; to count in the kernel, install nft and run as root or with CAP_NET_ADMIN'
}

/** What a newcomer is told of the lab core: below the addresses of the service, and what to try. */
function welcomeOf(address: string, counted: string): string {
  const isBuild = buildRecord() !== undefined
  const [svc, lab] = isBuild ? ['svc', 'lab'] : ['npm run -s svc --', 'npm run -s lab --']
  return JSON.stringify({
    addresses: [
      `  lab core       ${address}  (a stand-in for core, radio and phones)`,
      `  usage          ${counted}`,
    ],
    trial: [
      'Issue a SIM and put it into a phone of the lab core ({url}/docs/tutorials/first-ten-minutes.html has more):',
      `  BATCH=$({curl} -H "Authorization: Bearer {token}" -H 'Content-Type: application/json' {url}/v1/sims -d '{}' | sed 's/.*"batch_id":"\\([^"]*\\)".*/\\1/')`,
      `  ${svc} sim export "$BATCH" --data-dir {data_dir} --format json | ${lab} insert`,
      '',
    ],
  })
}

/** Whether rules of the kernel can be seen, and so changed. */
function mayUseNft(env: Terminal['env']): boolean {
  const more = { ...env, PATH: `${env.PATH}:/usr/sbin:/sbin` }
  return spawnSync('nft', ['list', 'tables'], { env: more, stdio: 'ignore' }).status === 0
}

async function endLabCore(lab: LabCore): Promise<void> {
  const { child } = lab
  if (child.exitCode !== null || child.signalCode !== null) return
  lab.isEnding = true
  const ended = new Promise((done) => child.once('exit', done))
  const late = setTimeout(() => child.kill('SIGKILL'), CORE_PATIENCE_MS)
  if (child.connected) child.disconnect()
  await ended
  clearTimeout(late)
}

/** Runs the service until it has ended by itself or was told to: signals go to it. What ended it otherwise has it started again. */
function supervise(flags: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { promise, resolve: end } = Promise.withResolvers<number>()
  const [, program = ''] = process.argv
  const starts: number[] = []
  let isEnding = false
  let child: ChildProcess
  const begin = (): void => {
    starts.push(Date.now())
    let isListening = false
    child = spawn(process.execPath, [...process.execArgv, program, ...flags], {
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', () => {
      isListening = true
    })
    child.on('error', ({ message }) => {
      say(`the service could not be started: ${message}`)
      end(1)
    })
    child.on('exit', (code, signal) => {
      const isCut = signal !== null || (code !== 0 && isListening)
      const isLate =
        starts.length >= STARTS_IN_A_ROW && Date.now() - (starts.at(-STARTS_IN_A_ROW) ?? 0) <= 60_000
      if (!isCut || isEnding || isLate) return end(code ?? 128)
      say(`the service was ended (${signal ?? code}); it starts again`)
      begin()
    })
  }
  begin()
  const pass = (signal: NodeJS.Signals): void => {
    isEnding = true
    child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => pass(signal))
  // The service takes SIGHUP for a wish to read its configuration again; a terminal that closes wants an end.
  if (!isHangupIgnored()) process.on('SIGHUP', () => pass('SIGTERM'))
  process.once('disconnect', () => pass('SIGTERM'))
  return promise
}

/** Whether whoever started this has asked to stay when the terminal is closed (nohup). */
function isHangupIgnored(): boolean {
  const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return (BigInt(`0x${ignored}`) & 1n) === 1n
}

function say(line: string): void {
  process.stderr.write(`steeple: ${line}\n`)
}
