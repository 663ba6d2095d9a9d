import { type ComponentHealth, type Context, countText, type Imsi, type Technology } from '@steeple/contracts'
import { type CoreInfo, gaugeIn, httpGet, phonesOfOurs, recordRecall } from '@steeple/southbound'
import type { Daemon } from '../render/roles.ts'

/** What is wrong between the daemons that hold sessions. */
interface SessionFaults {
  /** Listed by MME or AMF with a session that the SMF does not have: attached, and no data. */
  readonly phones: ReadonlyMap<Imsi, Technology>
  /** The SMF has sessions, and the UPF has none at all. */
  readonly isUpfEmpty: boolean
}

/** Callers within this time share the walk of MME and AMF, ms. */
const SHARED_MS = 1_000
const UPF_SESSIONS = 'fivegs_upffunction_upf_sessionnbr'

/**
 * Compares MME and AMF with the SMF, and the SMF with the UPF. A phone that is just coming or going can show in one look.
 *
 * Throws `southbound_unavailable` when one of the lists cannot be had: nothing is said then.
 */
export async function sessionFaults(
  info: CoreInfo,
  urlOf: (daemon: Daemon) => string,
  signal: AbortSignal,
): Promise<SessionFaults> {
  const listed = await info.ues.recent(SHARED_MS, signal)
  // The SMF is asked after the others: it has a session before they list it.
  const { value: held } = await info.sessions.since(listed.endedMs, signal)
  const phones = new Map<Imsi, Technology>()
  for (const { imsi, isRegistered, apns, technology } of listed.value.ues.values())
    if (isRegistered && apns.length > 0 && !held.has(imsi)) phones.set(imsi, technology)
  const isUpfEmpty = held.size > 0 && (await sessionsOfUpf(urlOf('upf'), signal)) === 0
  return { phones, isUpfEmpty }
}

/** Those of `now` that were there before, too. */
function lasting(before: SessionFaults | undefined, now: SessionFaults): SessionFaults {
  const phones = [...now.phones].filter(([imsi]) => before?.phones.has(imsi) === true)
  return { phones: new Map(phones), isUpfEmpty: now.isUpfEmpty && before?.isUpfEmpty === true }
}

/** Undefined when it does not tell. */
async function sessionsOfUpf(url: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const { status, body } = await httpGet('upf', `${url}/metrics`, signal)
    return status === 200 ? gaugeIn(body, UPF_SESSIONS) : undefined
  } catch {
    signal.throwIfAborted()
    return undefined // one that cannot be reached is another fault, which is seen elsewhere
  }
}

interface MenderParts {
  /** Throws `southbound_unavailable` while the core does not tell. */
  look(signal: AbortSignal): Promise<SessionFaults>
  /** Has a phone come back: detached with the word to attach again. False when nobody can do that. */
  recall(imsi: Imsi, technology: Technology, signal: AbortSignal): Promise<boolean>
  /** Told that a recall through the HSS was asked for, and the phone is as it was. */
  inVain(signal: AbortSignal): Promise<void>
  /** Restarts a daemon, and who follows it; false when it is not for the service to do that. */
  restart(daemon: Daemon, why: string, signal: AbortSignal): Promise<boolean>
  /** Why nothing may be done and faults are told alone; undefined when it may. */
  keepsOff(): string | undefined
}

/** Looks, mends, and tells. */
export interface SessionMender {
  readonly everyMs: number
  look(signal: AbortSignal): Promise<void>
  health(): ComponentHealth
}

/** A fault is believed at the second look in a row: it is seen and mended within 15 s. */
const EVERY_MS = 4_000
const RECALLS = 8
/** So often one phone is recalled for one fault. When that has not helped, the daemon that lists it is restarted. */
const MOST_RECALLS = 3
/** A daemon is restarted for this at most so often, ms, and so many times for one fault. */
const RESTART_REST_MS = 300_000
const MOST_RESTARTS = 2
const LISTS: Readonly<Record<Technology, Daemon>> = { lte: 'mme', nr: 'amf' }

/**
 * Mends what a restart or a crash has left half dropped: phones that MME or AMF list as attached while the SMF has no
 * session of theirs, and sessions of the SMF that the UPF has forgotten. Such a phone shows as attached and has no data
 * until it is switched off and on.
 */
export function sessionMender(context: Context, parts: MenderParts): SessionMender {
  const { log } = context
  let before: SessionFaults | undefined
  let standing: SessionFaults = NO_FAULTS
  let others = 0
  /** How often each phone was recalled for the fault that stands. */
  const recalls = new Map<Imsi, number>()
  const restarts = fewRestarts(context, parts.restart)

  const recallAll = async (phones: SessionFaults['phones'], signal: AbortSignal): Promise<void> => {
    // What is not written down is not done.
    await recordRecall(context, phones.keys(), RECALL)
    const waiting = [...phones]
    const worker = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [imsi] = next
        const tried = recalls.get(imsi) ?? 0
        try {
          recalls.set(imsi, (await parts.recall(...next, signal)) ? tried + 1 : MOST_RECALLS)
        } catch (error) {
          signal.throwIfAborted()
          recalls.set(imsi, tried + 1)
          log.debug({ err: error }, 'phone without a session could not be recalled')
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(RECALLS, waiting.length) }, worker))
  }
  const mend = async (ours: SessionFaults['phones'], signal: AbortSignal): Promise<void> => {
    if (standing.isUpfEmpty) await restarts.restart('smf', 'the UPF has none of its sessions', signal)
    else restarts.over('smf')
    for (const imsi of recalls.keys()) if (!ours.has(imsi)) recalls.delete(imsi)
    if (ours.size === 0) {
      for (const daemon of Object.values(LISTS)) restarts.over(daemon)
      return
    }
    const due = new Map([...ours].filter(([imsi]) => (recalls.get(imsi) ?? 0) < MOST_RECALLS))
    if ([...due].some(([imsi, technology]) => technology === 'lte' && recalls.has(imsi)))
      await parts.inVain(signal)
    if (due.size > 0) {
      log.warn({ phones: due.size }, 'phones without a session at the SMF are recalled')
      await recallAll(due, signal)
    }
    const left = [...ours].filter(([imsi]) => (recalls.get(imsi) ?? 0) >= MOST_RECALLS)
    for (const technology of new Set(left.map(([, technology]) => technology)))
      await restarts.restart(
        LISTS[technology],
        'it lists phones whose sessions the SMF does not have',
        signal,
      )
  }
  return {
    everyMs: EVERY_MS,
    look: async (signal) => {
      let now: SessionFaults
      try {
        now = await parts.look(signal)
      } catch {
        signal.throwIfAborted()
        before = undefined // a core that does not tell has its own component in health
        return
      }
      standing = lasting(before, now)
      before = now
      const ours = standing.phones.size === 0 ? standing.phones : await ownPhones(context, standing.phones)
      others = standing.phones.size - ours.size
      if (parts.keepsOff() === undefined) await mend(ours, signal)
    },
    health: () => ({
      name: 'sessions',
      kind: 'core',
      ...judged(standing, others, recalls, parts.keepsOff()),
    }),
  }
}

const RECALL = { core: 'core_a', reason: 'attached, and the SMF has no session of theirs' } as const

/** Of these phones the ones whose SIM is this service's and may be on: all others are somebody else's. */
async function ownPhones(
  context: Context,
  phones: SessionFaults['phones'],
): Promise<SessionFaults['phones']> {
  const ours = await phonesOfOurs(context, phones.keys())
  return new Map([...phones].filter(([imsi]) => ours.has(imsi)))
}

/** Restarts a daemon a few times for one fault, with a rest between. */
function fewRestarts(
  { clock, log }: Context,
  restart: MenderParts['restart'],
): {
  restart(daemon: Daemon, why: string, signal: AbortSignal): Promise<void>
  /** The fault is gone. */
  over(daemon: Daemon): void
} {
  const done = new Map<Daemon, { readonly atMs: number; readonly count: number }>()
  return {
    restart: async (daemon, why, signal) => {
      const last = done.get(daemon)
      const nowMs = clock.monotonicMs()
      if (last !== undefined && (last.count >= MOST_RESTARTS || nowMs - last.atMs < RESTART_REST_MS)) return
      done.set(daemon, { atMs: nowMs, count: (last?.count ?? 0) + 1 })
      if (await restart(daemon, why, signal)) log.warn({ daemon, why }, 'daemon restarted')
    },
    over: (daemon) => {
      done.delete(daemon)
    },
  }
}

const NO_FAULTS: SessionFaults = { phones: new Map(), isUpfEmpty: false }

function judged(
  { phones, isUpfEmpty }: SessionFaults,
  others: number,
  recalls: ReadonlyMap<Imsi, number>,
  keptOff: string | undefined,
): Pick<ComponentHealth, 'status' | 'detail'> {
  const isSpent = recalls.size > 0 && [...recalls.values()].every((count) => count >= MOST_RECALLS)
  const doing = isSpent
    ? 'they were told to attach again, which did not help: switch them off and on, or restart MME and AMF'
    : 'they are told to attach again'
  const ofOthers =
    others === 0
      ? ''
      : ` (${countText(others, 'of them is', 'of them are')} not of SIMs of this service: left alone)`
  const faults = [
    ...(phones.size === 0
      ? []
      : [
          `${countText(phones.size, 'attached phone has', 'attached phones have')} no session at the SMF, so no data${ofOthers}${
            keptOff !== undefined || phones.size === others ? '' : `: ${doing}`
          }`,
        ]),
    ...(isUpfEmpty ? ['the UPF has none of the sessions of the SMF, which has to restart'] : []),
  ]
  if (faults.length === 0) return { status: 'ok', detail: 'every attached phone has its session' }
  const idle = keptOff === undefined ? '' : ` (${keptOff}: nothing is done)`
  return { status: 'degraded', detail: `${faults.join('; ')}${idle}` }
}
