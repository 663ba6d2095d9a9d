import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { southboundUnavailable } from '@steeple/contracts'
import type { MessageBus } from 'dbus-native'
import { shown } from '../render/problems.ts'
import { abortable, pause } from '../time-limit.ts'
import type { ContainerState, Engine } from './engine.ts'

/** What a test puts in place of this machine's bus and journal. */
interface SystemdOptions {
  /** Address of the bus, as the D-Bus specification writes it. */
  readonly busAddress?: string
  /** Runs `journalctl`; gives what it prints. */
  readonly journalctl?: (args: readonly string[], signal: AbortSignal) => Promise<string>
  /** How long systemd may take to answer, ms; a restart gets its stop timeout on top. */
  readonly answerMs?: number
}

/** systemd.unit(5): the characters of a name, and how long it may be. */
const UNIT_NAME = /^[A-Za-z0-9:_.\\@-]{1,247}\.service$/
const ANSWER_MS = 10_000
/** What a start may take beyond the stop timeout, ms. */
const START_MS = 15_000
const JOB_LOOK_MS = 50
const MOST_OUTPUT = 16 * 1024 * 1024
/** What is shown of a journal, characters. */
const KEPT = 65_536

const SYSTEMD = 'org.freedesktop.systemd1'
const MANAGER = {
  destination: SYSTEMD,
  path: '/org/freedesktop/systemd1',
  interface: `${SYSTEMD}.Manager`,
} as const

/** Properties of a unit and of its service. Source: org.freedesktop.systemd1(5). */
interface UnitProperties {
  readonly LoadState: string
  readonly ActiveState: string
  readonly InvocationID: Uint8Array
  /** Its job, and the job's path; 0 when there is none. */
  readonly Job: readonly [number, string]
  /** Absent, like those that follow, for what is not loaded as a service. */
  readonly MainPID?: number
  /** µs since the epoch; 0 when it never ran. */
  readonly ExecMainStartTimestamp?: bigint
  /** `CLD_EXITED` 1, `CLD_KILLED` 2, `CLD_DUMPED` 3. */
  readonly ExecMainCode?: number
  readonly ExecMainStatus?: number
  readonly NRestarts?: number
  readonly Result?: string
}

/**
 * Units of systemd as an engine: a daemon's name in it is that of its unit, such as `open5gs-mmed.service`. It asks systemd
 * over the system bus and reads the journal with `journalctl`. Each call opens the bus anew, so both may restart meanwhile.
 */
export function systemdEngine({
  busAddress,
  journalctl = runJournalctl,
  answerMs = ANSWER_MS,
}: SystemdOptions = {}): Engine {
  const call = async <T>(
    unit: string,
    limitMs: number,
    signal: AbortSignal,
    work: (bus: MessageBus, ending: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted()
    requireName(unit)
    const ending = new AbortController()
    try {
      return await abortable(onBus(busAddress, ending.signal, work), signal, limitMs)
    } catch (error) {
      signal.throwIfAborted()
      throw southboundUnavailable(`unit ${unit}: ${busProblem(error)}`)
    } finally {
      ending.abort() // a call that was given up must not keep its connection
    }
  }
  const journal = async (
    unit: string,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Entry[]> => {
    signal.throwIfAborted()
    requireName(unit)
    try {
      const said = await journalctl([`--unit=${unit}`, ...JOURNAL_ARGS, ...args], signal)
      return said.split('\n').flatMap(entryIn)
    } catch (error) {
      signal.throwIfAborted()
      throw southboundUnavailable(`unit ${unit}: ${journalProblem(error)}`)
    }
  }
  return {
    inspect: (unit, signal) =>
      call(unit, answerMs, signal, async (bus) => {
        const properties = await propertiesOf(bus, unit)
        return properties.LoadState === 'not-found' ? undefined : stateOf(properties)
      }),
    restart: (unit, { stopTimeoutS }, signal) =>
      call(unit, stopTimeoutS * 1000 + Math.max(answerMs, START_MS), signal, (bus, ending) =>
        restarted(bus, unit, ending),
      ),
    logsTail: async (unit, lines, signal, sinceMs) => {
      const since = sinceMs === undefined ? [] : [`--since=@${(sinceMs / 1000).toFixed(3)}`]
      const entries = await journal(unit, [`--lines=${lines}`, ...since], signal)
      return entries
        .map(({ text }) => `${text}\n`)
        .join('')
        .slice(-KEPT)
    },
    logsSince: async (unit, lines, at, signal) => {
      const since = at === undefined ? [] : [`--since=@${Math.floor(Date.parse(at) / 1000)}`]
      const entries = await journal(unit, [`--lines=${lines}`, ...since], signal)
      return entries.map(({ at: writtenAt, text }) => `${writtenAt} ${text}\n`).join('')
    },
  }
}

function requireName(unit: string): void {
  if (!UNIT_NAME.test(unit)) throw southboundUnavailable(`${shown(unit)} is no name of a service unit`)
}

/** Works on a connection of its own, which goes when `ending` fires. */
async function onBus<T>(
  busAddress: string | undefined,
  ending: AbortSignal,
  work: (bus: MessageBus, ending: AbortSignal) => Promise<T>,
): Promise<T> {
  // Most boxes have no units to drive, and a start does not wait for it.
  const { createClient } = await import('dbus-native')
  ending.throwIfAborted()
  const address = busAddress ?? process.env.DBUS_SYSTEM_BUS_ADDRESS ?? 'unix:path=/run/dbus/system_bus_socket'
  const bus = createClient({ busAddress: address, timeout: 0 })
  ending.addEventListener('abort', () => bus.connection.end())
  const broken = new Promise<never>((_resolve, reject) => {
    bus.connection.on('error', reject)
    bus.connection.on('end', () => reject(new Error('the bus has gone away')))
  })
  return await Promise.race([work(bus, ending), broken])
}

/** systemd loads a unit whose properties are asked for, and says of one without a file that it is `not-found`. */
async function propertiesOf(bus: MessageBus, unit: string): Promise<UnitProperties> {
  return await bus.invoke<UnitProperties>({
    destination: SYSTEMD,
    path: `${MANAGER.path}/unit/${objectName(unit)}`,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'GetAll',
    signature: 's',
    // Of all its interfaces.
    body: [''],
  })
}

/** A unit's name in an object path: every other octet than a letter or digit as `_2e`. Source: sd_bus_path_encode(3). */
function objectName(unit: string): string {
  return unit.replaceAll(/^\d|[^A-Za-z0-9]/g, (one) => `_${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

async function restarted(bus: MessageBus, unit: string, signal: AbortSignal): Promise<string | undefined> {
  // One that failed too often is not started again before; one that is not loaded has nothing to reset.
  await bus.invoke({ ...MANAGER, member: 'ResetFailedUnit', signature: 's', body: [unit] }).catch(noSuchUnit)
  await bus.invoke({ ...MANAGER, member: 'RestartUnit', signature: 'ss', body: [unit, 'replace'] })
  let properties = await propertiesOf(bus, unit)
  while (properties.Job[0] !== 0) {
    await pause(JOB_LOOK_MS, signal)
    properties = await propertiesOf(bus, unit)
  }
  const { ActiveState, Result = '' } = properties
  // Of a program that ended, its exit code and words tell more.
  const hasEnded = ['success', 'exit-code', 'signal', 'core-dump'].includes(Result)
  return ActiveState === 'failed' && !hasEnded ? `systemd could not start it (${Result})` : undefined
}

function noSuchUnit(error: unknown): void {
  if (nameOf(error) !== `${SYSTEMD}.NoSuchUnit`) throw error
}

const CLD_EXITED = 1
const SIGNAL_BASE = 128

function stateOf(unit: UnitProperties): ContainerState {
  const { MainPID = 0, ExecMainStatus = 0, ExecMainCode = CLD_EXITED } = unit
  const isRunning = MainPID > 0 && ['active', 'reloading'].includes(unit.ActiveState)
  const startedAtMs = Number((unit.ExecMainStartTimestamp ?? 0n) / 1000n)
  return {
    id: Buffer.from(unit.InvocationID).toString('hex'),
    isRunning,
    pid: isRunning ? MainPID : undefined,
    startedAtMs: startedAtMs > 0 ? startedAtMs : undefined,
    exitCode: isRunning ? undefined : ExecMainStatus + (ExecMainCode > CLD_EXITED ? SIGNAL_BASE : 0),
    restartCount: unit.NRestarts ?? 0,
  }
}

function nameOf(error: unknown): string {
  const { dbusName, code } = (error ?? {}) as Readonly<Record<string, unknown>> // checked below
  return String(dbusName ?? code ?? '')
}

/** A unit of a service, and what it starts. */
interface StartedUnit {
  readonly unit: string
  readonly argv: readonly string[]
  readonly folder: string | undefined
  readonly pid: number | undefined
}

/** Of `UnitProperties` what tells what a service starts: of each command program and words first. */
interface StartProperties {
  readonly LoadState: string
  readonly ActiveState: string
  readonly MainPID?: number
  readonly WorkingDirectory?: string
  readonly ExecStart?: readonly (readonly [string, readonly string[], ...unknown[]])[]
}

/**
 * The units whose names match one of the patterns (systemctl(1)), loaded or not, and `more`, with what they start. Throws
 * `southbound_unavailable`.
 */
export async function systemdUnits(
  patterns: readonly string[],
  more: readonly string[],
  signal: AbortSignal,
  { busAddress, answerMs = ANSWER_MS }: Pick<SystemdOptions, 'busAddress' | 'answerMs'> = {},
): Promise<readonly StartedUnit[]> {
  const ending = new AbortController()
  const work = async (bus: MessageBus): Promise<readonly StartedUnit[]> => {
    const lists = { ...MANAGER, signature: 'asas', body: [[], [...patterns]] }
    const loaded = await bus.invoke<readonly (readonly string[])[]>({
      ...lists,
      member: 'ListUnitsByPatterns',
    })
    const files = await bus.invoke<readonly (readonly string[])[]>({
      ...lists,
      member: 'ListUnitFilesByPatterns',
    })
    const names = new Set([
      ...loaded.map(([name = '']) => name),
      ...files.map(([path = '']) => path.slice(path.lastIndexOf('/') + 1)),
      ...more,
    ])
    // A template starts nothing by itself.
    const units = [...names].filter((name) => UNIT_NAME.test(name) && !name.includes('@.'))
    return (await Promise.all(units.map((unit) => startedUnit(bus, unit)))).filter((one) => one !== undefined)
  }
  try {
    return await abortable(onBus(busAddress, ending.signal, work), signal, answerMs)
  } catch (error) {
    signal.throwIfAborted()
    throw southboundUnavailable(`units of systemd were not looked at: ${busProblem(error)}`)
  } finally {
    ending.abort()
  }
}

async function startedUnit(bus: MessageBus, unit: string): Promise<StartedUnit | undefined> {
  const properties = (await propertiesOf(bus, unit)) as unknown as StartProperties // of a service
  const { LoadState, ActiveState, MainPID = 0, WorkingDirectory = '', ExecStart = [] } = properties
  const [, argv] = ExecStart[0] ?? []
  if (LoadState !== 'loaded' || argv === undefined) return undefined
  const isRunning = MainPID > 0 && ['active', 'reloading'].includes(ActiveState)
  const folder = WorkingDirectory === '' ? '/' : WorkingDirectory
  return { unit, argv, folder, pid: isRunning ? MainPID : undefined }
}

const REFUSALS = ['AccessDenied', 'InteractiveAuthorizationRequired', 'AuthFailed']

function busProblem(error: unknown): string {
  const name = nameOf(error)
  if (name === southboundUnavailable.code) return `systemd gives ${(error as Error).message}`
  if (name === `${SYSTEMD}.NoSuchUnit`) return 'systemd has no such unit'
  if (REFUSALS.some((one) => name.endsWith(`.${one}`)))
    return 'this service may not restart units; install the polkit rule of docs/how-to/core-systemd.md'
  return name === ''
    ? 'the system bus does not answer'
    : `the system bus does not answer (${name.split('.').at(-1)})`
}

const JOURNAL_ARGS = ['--no-pager', '--quiet', '--output=json', '--output-fields=MESSAGE'] as const

interface Entry {
  /** RFC 3339, to the microsecond. */
  readonly at: string
  readonly text: string
}

/** One line of `--output=json`: text that is no UTF-8 comes as an array of octets, and a long one as null. */
function entryIn(line: string): readonly Entry[] {
  if (line === '') return []
  const { __REALTIME_TIMESTAMP: time, MESSAGE: message } = JSON.parse(line) as Readonly<
    Record<string, unknown>
  >
  const microseconds = BigInt(String(time))
  const second = new Date(Number(microseconds / 1000n)).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
  const fraction = String(microseconds % 1_000_000n).padStart(6, '0')
  const text = Array.isArray(message) ? Buffer.from(message).toString('utf8') : String(message ?? '')
  return [{ at: `${second}.${fraction}Z`, text: text.replaceAll('\n', ' ') }]
}

const runFile = promisify(execFile)

async function runJournalctl(args: readonly string[], signal: AbortSignal): Promise<string> {
  const { stdout } = await runFile('journalctl', args, { maxBuffer: MOST_OUTPUT, signal, timeout: ANSWER_MS })
  return stdout
}

function journalProblem(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown } // checked below
  if (code === 'ENOENT') return 'journalctl is missing: its log cannot be read'
  return 'journalctl does not give its log; is this service in the group systemd-journal?'
}
