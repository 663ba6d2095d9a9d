import type { Imsi } from '@steeple/contracts'
import type { Registration } from '@steeple/southbound'
import type { AmfClient } from '../amf/amf-client.ts'
import type { SmfClient } from '../smf/smf-client.ts'

export type Kicked = 'yes' | 'pending' | 'not_attached'

/** Sessions are remembered for so many subscribers. */
const REMEMBERED = 20_000

/** Cuts subscribers off, and what it has to know for that. */
export interface Kick {
  (imsi: Imsi, signal: AbortSignal): Promise<Kicked>
  /** Remembers the sessions of a list: an AMF that restarts forgets them, its SMF does not. */
  seen(registrations: readonly Registration[]): void
}

/**
 * Makes the function that really disconnects a subscriber: AMF first, then every session at the SMF, then a look whether
 * any is left.
 *
 * The AMF forgets a subscriber although the release of a session failed, and answers as if it had worked; one that was
 * restarted knows nobody at all. So the references are kept here until the SMF says that the sessions are gone, and
 * those that stay are released directly. `yes` once no session is left: a phone that is blocked in the database may
 * register again at once and gets none. `pending` while AMF or SMF holds a session, or the SMF cannot be asked. Throws
 * `southbound_unavailable` when the AMF cannot be asked.
 */
export function createKick(amf: AmfClient, smf: SmfClient): Kick {
  /** Sessions that a kick has left open, and those of the last list. */
  const [left, listed] = [new Map<Imsi, ReadonlySet<string>>(), new Map<Imsi, ReadonlySet<string>>()]

  const kick = async (imsi: Imsi, signal: AbortSignal): Promise<Kicked> => {
    signal.throwIfAborted()
    const before = await amf.registrationsOf(imsi, signal)
    const refs = new Set([...(left.get(imsi) ?? []), ...(listed.get(imsi) ?? []), ...refsOf(before ?? [])])
    if (before === undefined && refs.size === 0) return 'not_attached'
    // Of a list alone it is not known whether the phone has gone by itself since.
    const isKnown = before !== undefined || left.has(imsi)
    remember(left, imsi, refs)
    const after = before === undefined ? [] : await cutAtAmf(amf, imsi, signal)
    const { open, wasOpen } = await stillOpen(smf, refs, signal)
    remember(left, imsi, open)
    listed.delete(imsi)
    if (refsOf(after).length > 0 || open.size > 0) return 'pending'
    return isKnown || wasOpen ? 'yes' : 'not_attached'
  }
  const seen: Kick['seen'] = (registrations) => {
    const byImsi = Map.groupBy(registrations, ({ imsi }) => imsi)
    for (const [imsi, its] of byImsi) remember(listed, imsi, new Set(refsOf(its)))
  }
  return Object.assign(kick, { seen })
}

/** The latest last; those that were said longest ago are forgotten. */
function remember(known: Map<Imsi, ReadonlySet<string>>, imsi: Imsi, refs: ReadonlySet<string>): void {
  known.delete(imsi)
  if (refs.size > 0) known.set(imsi, refs)
  if (known.size <= REMEMBERED) return
  // Not before: the first key is behind all that were deleted before it.
  const [oldest] = known.keys()
  if (oldest !== undefined) known.delete(oldest)
}

function refsOf(registrations: readonly Registration[]): readonly string[] {
  return registrations.flatMap(({ sessions }) => sessions.map(({ ref }) => ref)).filter((ref) => ref !== '')
}

/** Has the AMF forget a subscriber; what it knows of it afterwards. */
async function cutAtAmf(amf: AmfClient, imsi: Imsi, signal: AbortSignal): Promise<readonly Registration[]> {
  if (!(await amf.deregister(imsi, signal))) return []
  return (await amf.registrationsOf(imsi, signal)) ?? []
}

/** How long the SMF may take over one subscriber's sessions, ms. */
const SMF_MS = 3_000

/** The sessions that the SMF does not let go, or of which it does not tell in time; and whether it had any. */
async function stillOpen(
  smf: SmfClient,
  refs: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<{ readonly open: ReadonlySet<string>; readonly wasOpen: boolean }> {
  const open = new Set(refs)
  let wasOpen = false
  const limited = AbortSignal.any([signal, AbortSignal.timeout(SMF_MS)])
  try {
    for (const ref of refs) {
      if (await smf.hasSession(ref, limited)) {
        wasOpen = true
        await smf.release(ref, limited)
      } else open.delete(ref)
    }
    for (const ref of open) if (!(await smf.hasSession(ref, limited))) open.delete(ref)
  } catch {
    // A kick whose end nobody confirms is pending, whatever the reason; the health of the SMF tells it.
    signal.throwIfAborted()
  }
  return { open, wasOpen }
}
