import type { Imsi, Technology } from '@steeple/contracts'
import { type CoreInfo, gaugeIn, httpGet } from '@steeple/southbound'
import type { Daemon } from '../render/roles.ts'

/** What is wrong between the daemons that hold sessions. */
export interface SessionFaults {
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
export function lasting(before: SessionFaults | undefined, now: SessionFaults): SessionFaults {
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
