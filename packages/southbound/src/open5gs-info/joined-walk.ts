import { type Imsi, southboundUnavailable, type Technology, untilAborted } from '@steeple/contracts'
import type { UeEntry } from './entries.ts'
import type { SharedWalk, Walked } from './shared-walk.ts'

/** The phones that one daemon lists. */
export type UesByImsi = ReadonlyMap<Imsi, UeEntry>

/** Every phone that MME and AMF list, by IMSI. In memory only. */
export interface UeList {
  /** Of a phone that both list, the entry of the one where it is on. */
  readonly ues: ReadonlyMap<Imsi, UeEntry>
  readonly by: Readonly<Record<Technology, ReadonlyMap<Imsi, UeEntry>>>
  /** Why the list of one of them cannot be had, while that of the other can; nothing is known of its phones then. */
  readonly problems: ReadonlyMap<Technology, unknown>
}

/** The list of one daemon, and how it is had. */
export interface UeWalk {
  readonly daemon: string
  readonly technology: Technology
  readonly walk: SharedWalk<UesByImsi>
}

/** Who failed last time is waited for so long while the other one may answer, ms. */
const GRACE_MS = 500

type How = (walk: SharedWalk<UesByImsi>) => Promise<Walked<UesByImsi>>

/**
 * The lists of MME and AMF as one. Each has its own walk, and one that fails, or hangs, takes nothing from the other: it is
 * named among the `problems`. Throws when none can be had.
 */
export function joinedWalk(lists: () => readonly UeWalk[]): SharedWalk<UeList> {
  const failing = new Set<UeWalk>()
  const one = async (list: UeWalk, isAlone: boolean, how: How): Promise<Walked<UesByImsi>> => {
    const walking = how(list.walk)
    const isWaitedFor = isAlone || !failing.has(list)
    walking.then(
      () => failing.delete(list),
      () => failing.add(list),
    )
    if (isWaitedFor) return await walking
    const grace = AbortSignal.timeout(GRACE_MS)
    return await untilAborted(walking, grace).catch((error: unknown) => {
      if (!grace.aborted) throw error
      throw southboundUnavailable(`${list.daemon} cannot be asked: it does not answer`)
    })
  }
  const all = async (signal: AbortSignal, how: How): Promise<Walked<UeList>> => {
    const asked = lists()
    const results = await Promise.allSettled(
      asked.map(async (list) => ({ list, walked: await one(list, asked.length === 1, how) })),
    )
    signal.throwIfAborted()
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const problems = results.flatMap((result, index) => {
      const technology = asked[index]?.technology
      return result.status === 'fulfilled' || technology === undefined
        ? []
        : [[technology, result.reason] as const]
    })
    if (found.length === 0 && problems[0] !== undefined) throw problems[0][1]
    return joinedOf(found, new Map(problems))
  }
  return {
    recent: (ageMs, signal) => all(signal, (walk) => walk.recent(ageMs, signal)),
    since: (sinceMs, signal) => all(signal, (walk) => walk.since(sinceMs, signal)),
    last: (ageMs) => {
      const found = lists().flatMap((list) => {
        const walked = list.walk.last(ageMs)
        return walked === undefined ? [] : [{ list, walked }]
      })
      return found.length < lists().length ? undefined : joinedOf(found, new Map())
    },
  }
}

function joinedOf(
  found: readonly { readonly list: UeWalk; readonly walked: Walked<UesByImsi> }[],
  problems: UeList['problems'],
): Walked<UeList> {
  const by: Record<Technology, UesByImsi> = { lte: new Map(), nr: new Map() }
  for (const { list, walked } of found) by[list.technology] = walked.value
  let ues = by.lte
  if (by.nr.size > 0) {
    const both = new Map(by.lte)
    for (const entry of by.nr.values()) takeUe(both, entry)
    ues = both
  }
  return {
    value: { ues, by, problems },
    beganMs: Math.min(...found.map(({ walked }) => walked.beganMs)),
    endedMs: Math.max(...found.map(({ walked }) => walked.endedMs)),
  }
}

/** Listed twice, by a move between pages or by both daemons: the one that is on counts. */
export function takeUe(ues: Map<Imsi, UeEntry>, entry: UeEntry): void {
  const held = ues.get(entry.imsi)
  if (held === undefined || (entry.isRegistered && !held.isRegistered)) ues.set(entry.imsi, entry)
}
