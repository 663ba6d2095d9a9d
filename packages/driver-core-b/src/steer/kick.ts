import type { Imsi } from '@steeple/contracts'
import type { AmfClient } from '../amf/amf-client.ts'
import type { Registration } from '../amf/registered-ue.ts'
import type { SmfClient } from '../smf/smf-client.ts'

/** What came of a kick. */
export type Kicked = 'yes' | 'pending' | 'not_attached'

/** Sessions that an SMF did not let go are remembered for so many subscribers. */
const REMEMBERED = 20_000

/**
 * Makes the function that really disconnects a subscriber: AMF first, then every session at the SMF, then a look whether
 * any is left.
 *
 * The AMF forgets a subscriber although the release of a session failed, and answers as if it had worked. So the
 * references are kept here until the SMF says that the sessions are gone, and those that stay are released directly.
 * `yes` once no session is left: a phone that is blocked in the database may register again at once and gets none.
 * `pending` while AMF or SMF holds a session, or the SMF cannot be asked. Throws `southbound_unavailable` when the AMF
 * cannot be asked.
 */
export function createKick(
  amf: AmfClient,
  smf: SmfClient,
): (imsi: Imsi, signal: AbortSignal) => Promise<Kicked> {
  const left = new Map<Imsi, ReadonlySet<string>>()

  const remember = (imsi: Imsi, refs: ReadonlySet<string>): void => {
    left.delete(imsi)
    if (refs.size > 0) left.set(imsi, refs)
    const [oldest] = left.keys()
    if (left.size > REMEMBERED && oldest !== undefined) left.delete(oldest)
  }

  return async (imsi, signal) => {
    signal.throwIfAborted()
    const before = await amf.registrationsOf(imsi, signal)
    const refs = new Set([...(left.get(imsi) ?? []), ...refsOf(before ?? [])])
    if (before === undefined && refs.size === 0) return 'not_attached'
    remember(imsi, refs)
    const after = before === undefined ? [] : await cutAtAmf(amf, imsi, signal)
    const open = await stillOpen(smf, refs, signal)
    remember(imsi, open)
    return refsOf(after).length === 0 && open.size === 0 ? 'yes' : 'pending'
  }
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

/** The sessions that the SMF does not let go, or of which it does not tell in time. */
async function stillOpen(
  smf: SmfClient,
  refs: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const open = new Set(refs)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(SMF_MS)])
  try {
    for (const ref of refs) {
      if (await smf.hasSession(ref, limited)) await smf.release(ref, limited)
      else open.delete(ref)
    }
    for (const ref of open) if (!(await smf.hasSession(ref, limited))) open.delete(ref)
  } catch {
    // A kick whose end nobody confirms is pending, whatever the reason; the health of the SMF tells it.
    signal.throwIfAborted()
  }
  return open
}
