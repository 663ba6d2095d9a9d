import type { Clock, ComponentHealth, Imsi, Log, Technology } from '@steeple/contracts'
import type { Daemon } from '../render/roles.ts'
import { lasting, type SessionFaults } from './lost-sessions.ts'

/** What mending needs. */
export interface MenderParts {
  readonly clock: Clock
  readonly log: Log
  /** Throws `southbound_unavailable` while the core does not tell. */
  look(signal: AbortSignal): Promise<SessionFaults>
  /** Has a phone come back: detached with the word to attach again. False when nobody can do that. */
  recall(imsi: Imsi, technology: Technology, signal: AbortSignal): Promise<boolean>
  /** Restarts a daemon, and who follows it; false when it is not for the service to do that. */
  restart(daemon: Daemon, why: string, signal: AbortSignal): Promise<boolean>
  /** Whether anything may be done; otherwise faults are told alone. */
  mayMend(): boolean
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
/** So many looks in a row that a recall has not helped at, and the daemon that lists the phones is restarted. */
const RECALL_ROUNDS = 3
/** A daemon is restarted for this at most so often, ms. */
const RESTART_REST_MS = 300_000
const LISTS: Readonly<Record<Technology, Daemon>> = { lte: 'mme', nr: 'amf' }

/**
 * Mends what a restart or a crash has left half dropped: phones that MME or AMF list as attached while the SMF has no
 * session of theirs, and sessions of the SMF that the UPF has forgotten. Such a phone shows as attached and has no data
 * until it is switched off and on.
 */
export function sessionMender(parts: MenderParts): SessionMender {
  const { clock, log } = parts
  let before: SessionFaults | undefined
  let standing: SessionFaults = { phones: new Map(), isUpfEmpty: false }
  let rounds = 0
  const restartedMs = new Map<Daemon, number>()

  const restart = async (daemon: Daemon, why: string, signal: AbortSignal): Promise<void> => {
    const last = restartedMs.get(daemon)
    const nowMs = clock.monotonicMs()
    if (last !== undefined && nowMs - last < RESTART_REST_MS) return
    restartedMs.set(daemon, nowMs)
    if (await parts.restart(daemon, why, signal)) log.warn({ daemon, why }, 'daemon restarted')
  }
  const recallAll = async (phones: SessionFaults['phones'], signal: AbortSignal): Promise<boolean> => {
    const waiting = [...phones]
    let isAble = false
    const worker = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        try {
          isAble = (await parts.recall(...next, signal)) || isAble
        } catch (error) {
          signal.throwIfAborted()
          log.debug({ err: error }, 'phone without a session could not be recalled')
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(RECALLS, waiting.length) }, worker))
    return isAble
  }
  const mend = async ({ phones, isUpfEmpty }: SessionFaults, signal: AbortSignal): Promise<void> => {
    if (isUpfEmpty) await restart('smf', 'the UPF has none of its sessions', signal)
    if (phones.size === 0) return
    log.warn({ phones: phones.size }, 'phones without a session at the SMF are recalled')
    const isAble = await recallAll(phones, signal)
    rounds += 1
    if (isAble && rounds < RECALL_ROUNDS) return
    for (const technology of new Set(phones.values()))
      await restart(LISTS[technology], 'it lists phones whose sessions the SMF does not have', signal)
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
      if (standing.phones.size === 0) rounds = 0
      if (parts.mayMend()) await mend(standing, signal)
    },
    health: () => ({ name: 'sessions', kind: 'core', ...judged(standing, parts.mayMend()) }),
  }
}

function judged(
  { phones, isUpfEmpty }: SessionFaults,
  mayMend: boolean,
): Pick<ComponentHealth, 'status' | 'detail'> {
  const faults = [
    ...(phones.size === 0
      ? []
      : [
          `${phones.size} attached phones have no session at the SMF, so no data: they are told to attach again`,
        ]),
    ...(isUpfEmpty ? ['the UPF has none of the sessions of the SMF, which has to restart'] : []),
  ]
  if (faults.length === 0) return { status: 'ok', detail: 'every attached phone has its session' }
  const idle = mayMend ? '' : ' (core_a.mend is off: nothing is done)'
  return { status: 'degraded', detail: `${faults.join('; ')}${idle}` }
}
