import { isDeepStrictEqual } from 'node:util'
import {
  type Context,
  type CoreComparison,
  coreDriverRef,
  type Settings,
  sectionOf,
} from '@steeple/contracts'
import {
  type CoreReading,
  errorWords,
  type FoundCore,
  type FoundDaemon,
  findDaemons,
  type LookPlaces,
  readCore,
} from '@steeple/southbound'
import { coreDesired } from './plan.ts'

/** A core that runs on this machine, whoever set it up. */
export interface FoundOnMachine {
  readonly daemons: readonly FoundDaemon[]
  /** Undefined where no daemon of a core was found. */
  readonly reading: CoreReading | undefined
  /** Keys that fit the core, whatever is in force. */
  readonly fitting: Readonly<Record<string, unknown>>
  /** Of `fitting`, those that have another value now. */
  readonly settings: Readonly<Record<string, unknown>>
  /** With these the service drives it, those that have another value now; undefined where nobody can restart its daemons. */
  readonly drive: Readonly<Record<string, unknown>> | undefined
  /** What the policy's APNs have to be; undefined where they are so, or the files name none. */
  readonly apns: readonly string[] | undefined
  /** Of the policy's APNs, those that go with it. */
  readonly apnsGone: readonly string[]
  /** Undefined where its files cannot be compared; `problems` says why. */
  readonly comparison: CoreComparison | undefined
  readonly problems: readonly string[]
  /** What could not be looked at, in words. */
  readonly unseen: readonly string[]
}

/** Looks for a core on this machine and reads its files. Starts, stops and writes nothing. */
export async function foundNow(
  context: Context,
  signal: AbortSignal,
  places: Partial<LookPlaces> = {},
): Promise<FoundOnMachine> {
  const { settings } = context
  const engineSocket = sectionOf(settings, 'hss').engine_socket ?? ''
  const { daemons, unseen } = await findDaemons({ engineSocket, ...places }, signal)
  const core = coreOf(daemons, settings)
  if (core === undefined)
    return {
      daemons,
      reading: undefined,
      fitting: {},
      settings: {},
      drive: undefined,
      apns: undefined,
      apnsGone: [],
      comparison: undefined,
      problems: [],
      unseen,
    }
  const reading = await readCore(core, daemons)
  const { comparison, problems } = await comparedWith(context, reading, signal)
  const { [HSS_DRIVER]: hssDriver = USUAL_HSS_DRIVER, ...rest } = reading.settings
  // Subscribers are left alone after a release, until the service is to drive the core again.
  const isHssLeft = sectionOf(settings, 'hss').driver === 'none'
  const fitting = { ...(isHssLeft ? rest : reading.settings), 'collector.enabled': true }
  const runner = runnerOf(daemons)
  const apns = otherApns(context, reading)
  const differing = (all: object): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      Object.entries(all).filter(
        ([key, value]) => isKnown(settings, key) && !isInForce(settings, key, value),
      ),
    )
  return {
    daemons,
    reading,
    fitting,
    settings: differing(fitting),
    drive:
      runner === undefined
        ? undefined
        : differing({ 'southbound.driver': runner, ...(isHssLeft ? { [HSS_DRIVER]: hssDriver } : {}) }),
    apns,
    apnsGone: apns === undefined ? [] : coreDesired(context).apns.filter((apn) => !apns.includes(apn)),
    comparison,
    problems: [...reading.problems, ...problems],
    unseen,
  }
}

export const HSS_DRIVER = 'hss.driver'
/** Where the core does not say which one it takes. */
const USUAL_HSS_DRIVER = 'docdb_shell'

/** What restarts the daemons, as `southbound.driver` names it. */
function runnerOf(daemons: readonly FoundDaemon[]): 'container' | 'systemd' | undefined {
  if (daemons.some(({ runner }) => runner.kind === 'container')) return 'container'
  return daemons.some(({ runner }) => runner.kind === 'unit') ? 'systemd' : undefined
}

/** All keys that may be set over the API because they were found here: those that fit the core, and those that drive it. */
export async function settingsFound(
  context: Context,
  signal: AbortSignal,
  places: Partial<LookPlaces> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { fitting, drive } = await foundNow(context, signal, places)
  return { ...fitting, ...drive }
}

function otherApns(context: Context, { network }: CoreReading): readonly string[] | undefined {
  const apns = apnsOf(coreDesired(context).apns, network)
  return isDeepStrictEqual(apns.toSorted(), coreDesired(context).apns.toSorted()) ? undefined : apns
}

/** The network's APNs. Where a pool is for any APN, those that are set have one, too. */
function apnsOf(now: readonly string[], { apns, pools }: CoreReading['network']): readonly string[] {
  if (apns.length === 0) return now
  return pools.some(({ apn }) => apn === undefined) ? [...new Set([...now, ...apns])] : apns
}

/** The core that the configuration names if it is there, else the one that is. */
function coreOf(daemons: readonly FoundDaemon[], { core }: Settings): FoundCore | undefined {
  const cores = (['core_a', 'core_b'] as const).filter((one) => daemons.some((daemon) => daemon.core === one))
  return cores.find((one) => one === core) ?? cores[0]
}

/** Its files beside what would be written, were the settings as they say. */
async function comparedWith(
  context: Context,
  { core, settings: found, network }: CoreReading,
  signal: AbortSignal,
): Promise<{ readonly comparison: CoreComparison | undefined; readonly problems: readonly string[] }> {
  const driver = context.maybe(coreDriverRef)
  if (context.settings.core !== core)
    return {
      comparison: undefined,
      problems: [`its files are compared once the setting core is ${core}: it is ${context.settings.core}`],
    }
  if (driver?.compare === undefined)
    return { comparison: undefined, problems: ['this core driver does not compare files that others wrote'] }
  const settings = withFound(context.settings, found)
  const { plmn, tac } = settings
  const now = coreDesired(context)
  const desired = { ...now, plmn, tac, apns: apnsOf(now.apns, network) }
  try {
    return { comparison: await driver.compare(desired, settings, signal), problems: [] }
  } catch (error) {
    signal.throwIfAborted()
    return { comparison: undefined, problems: [errorWords(error)] }
  }
}

function withFound(settings: Settings, found: Readonly<Record<string, unknown>>): Settings {
  const all = structuredClone(settings)
  for (const [key, value] of Object.entries(found)) {
    const [name = '', inner] = key.split('.')
    // Keys of the configuration are one or two deep here, and their values are of the schema's kind.
    const section = (inner === undefined ? all : all[name as 'core_a']) as unknown as Record<string, unknown>
    section[inner ?? name] = value
  }
  return all
}

/** Not a key of a part that this build lacks. */
function isKnown(settings: Settings, key: string): boolean {
  const [section = '', name = ''] = key.split('.')
  const there = settings[section as keyof Settings] as object | undefined
  return !['hss', 'collector'].includes(section) || name in (there ?? {})
}

function isInForce(settings: Settings, key: string, value: unknown): boolean {
  const now = key
    .split('.')
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], settings)
  return isDeepStrictEqual(now, value)
}
