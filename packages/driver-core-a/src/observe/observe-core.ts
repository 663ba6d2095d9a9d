import {
  type Clock,
  type CoreObserved,
  countText,
  type ObservedStation,
  type ObservedUe,
  southboundUnavailable,
  type Technology,
} from '@steeple/contracts'
import type { CoreInfo, CountingEngine, SharedWalk, UeList } from '@steeple/southbound'
import type { CorePlaces } from '../core-places.ts'
import { type WorkParts, workProblems } from '../verify/probe.ts'
import type { ContainerState } from './daemon-states.ts'

/** Registered phones: those of this network or of none that the core names, and those of others (MCC and MNC). */
interface PhonesByNetwork {
  readonly own: number
  readonly others: ReadonlyMap<string, number>
}

/** A walk of so long ago still tells, ms: a long list is walked seldom. */
const LAST_MS = 60_000
const NAMES_MAX = 3

/** Counts registered phones by the network (TS 23.003 §2.2) of the cell where they were last. */
function phonesByNetwork({ ues }: UeList, ownPlmn: string): PhonesByNetwork {
  let own = 0
  const others = new Map<string, number>()
  for (const { isRegistered, plmn } of ues.values()) {
    if (!isRegistered) continue
    if (plmn === undefined || plmn === ownPlmn) own += 1
    else others.set(plmn, (others.get(plmn) ?? 0) + 1)
  }
  return { own, others }
}

/** What a core serves for other networks as of the last walks, for people; undefined when nothing. */
export function otherNetworks(info: CoreInfo, ownPlmn: string): string | undefined {
  const radios = info.radios.last(LAST_MS)?.value.others ?? new Map<string, number>()
  const ues = info.ues.last(LAST_MS)?.value
  const phones = ues === undefined ? new Map<string, number>() : phonesByNetwork(ues, ownPlmn).others
  const counts = [
    [sum(radios), 'base station'],
    [sum(phones), 'phone'],
  ] as const
  const words = counts.filter(([count]) => count > 0).map(([count, what]) => countText(count, what))
  if (words.length === 0) return undefined
  const names = [...new Set([...radios.keys(), ...phones.keys()])].toSorted().map(plmnWords)
  const shown = names.length > NAMES_MAX ? [...names.slice(0, NAMES_MAX), '…'] : names
  return `${words.join(' and ')} of another network (${shown.join(', ')})`
}

function plmnWords(plmn: string): string {
  return `${plmn.slice(0, 3)}-${plmn.slice(3)}`
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0)
}

export interface ObserveParts {
  readonly info: CoreInfo
  readonly places: () => CorePlaces
  readonly work: WorkParts
  readonly restarted: CountingEngine['restarted']
  /** SHA-256 of the configuration that the core was last seen well with. */
  readonly appliedSha256: () => Promise<string | undefined>
}

/** How long daemons are asked whether they do their work, ms. */
const WORK_MS = 1_500
/** Callers within this time share a walk, ms. */
const SHARED_MS = 1_000
/** Who looks does not wait longer for a count, ms: a long list is not walked in the time of a status request. */
const COUNT_MS = 700
/** A count of an earlier walk still counts, ms. */
const OLD_COUNT_MS = 15_000

/**
 * What the core looks like from outside. Never throws for a core that is away: its daemons are down then and its counts
 * undefined, since nobody has counted 0.
 */
export async function observeCore(parts: ObserveParts, signal: AbortSignal): Promise<CoreObserved> {
  signal.throwIfAborted()
  const { info, work } = parts
  const places = parts.places()
  const [configSha256, { services, problems }, radios, ues] = await Promise.all([
    // A directory that cannot be read says nothing of what is applied.
    parts.appliedSha256().catch(() => undefined),
    daemonsAt(places, work, signal),
    counted(info.radios, signal),
    counted(info.ues, signal),
  ])
  signal.throwIfAborted()
  // Of two lists one is no count.
  const attachedUes =
    ues === undefined || ues.problems.size > 0 ? undefined : phonesByNetwork(ues, places.plmn).own
  const technology = radios?.technology
  const otherNetworks = [...(radios?.others.keys() ?? [])].toSorted().map(plmnWords)
  return {
    configSha256,
    services,
    problems,
    restarted: parts.restarted(places.containers),
    radios: radios?.count,
    attachedUes,
    ...(technology === undefined ? {} : { technology }),
    ...(otherNetworks.length === 0 ? {} : { otherNetworks }),
  }
}

/** Who answers, and who of them does not do its work. What takes longer than a status may is not known. */
async function daemonsAt(
  places: CorePlaces,
  work: WorkParts,
  signal: AbortSignal,
): Promise<{ readonly services: CoreObserved['services']; readonly problems: ReadonlyMap<string, string> }> {
  const services = await work.look.all(places, signal)
  const up = [...services].filter(([, state]) => state === 'up').map(([daemon]) => daemon)
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(WORK_MS)])
  const problems = await workProblems(up, places, work, inTime).catch(() => new Map<string, string>())
  signal.throwIfAborted()
  return { services, problems }
}

/** Every phone that MME and AMF list. Callers within a second share one walk. Throws `southbound_unavailable`. */
export async function listUes(info: CoreInfo, signal: AbortSignal): Promise<readonly ObservedUe[]> {
  return uesOf((await info.ues.recent(SHARED_MS, signal)).value)
}

/** Those of a list, or of one technology. Throws why it is not whole. */
function uesOf({ ues, problems }: UeList, technology?: Technology): readonly ObservedUe[] {
  for (const [missing, problem] of problems) if ((technology ?? missing) === missing) throw problem
  const entries = [...ues.values()].filter((ue) => (technology ?? ue.technology) === ue.technology)
  return entries.map(({ imsi, isRegistered, isConnected, apns }) => ({
    imsi,
    isRegistered,
    apns,
    ...(isConnected === undefined ? {} : { isConnected }),
  }))
}

interface CountParts {
  readonly info: CoreInfo
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly stateOf: ContainerState
  readonly places: () => Pick<CorePlaces, 'daemons'>
}

/**
 * As `listUes`, for who needs a count now: an earlier failure does not stand for it, and nobody is
 * on at a daemon that does not run.
 */
export async function countedUes(
  { info, clock, stateOf, places }: CountParts,
  technology: Technology,
  signal: AbortSignal,
): Promise<readonly ObservedUe[]> {
  try {
    const { value } = await info.ues.since(clock.monotonicMs() - SHARED_MS, signal)
    return uesOf(value, technology)
  } catch (error) {
    signal.throwIfAborted()
    const daemon = technology === 'lte' ? 'mme' : 'amf'
    const isThere = places().daemons.includes(daemon) && (await stateOf(daemon, signal)) !== 'down'
    if (isThere) throw error
    return []
  }
}

/** The base stations that MME or AMF lists, in a walk of this call. Throws `southbound_unavailable`. */
export async function stationsOf(
  { info, clock }: { readonly info: CoreInfo; readonly clock: Pick<Clock, 'monotonicMs'> },
  technology: Technology,
  signal: AbortSignal,
): Promise<readonly ObservedStation[]> {
  const { value } = await info.radios.since(clock.monotonicMs(), signal)
  const listed = value.lists.get(technology)
  if (listed === undefined)
    throw southboundUnavailable(`the core lists no base stations of ${technology} now`)
  return listed.map(({ number, address }) => ({ id: number, address }))
}

/** A walk's result if it comes in time, else that of one not long ago, else undefined. */
async function counted<T>(walk: SharedWalk<T>, signal: AbortSignal): Promise<T | undefined> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)])
  try {
    return (await walk.recent(SHARED_MS, inTime)).value
  } catch {
    signal.throwIfAborted()
    // One that failed says that the core is away; one that takes its time does not.
    if (!inTime.aborted) return undefined
    return walk.last(OLD_COUNT_MS)?.value
  }
}
