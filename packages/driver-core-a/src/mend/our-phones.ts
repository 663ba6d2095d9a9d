import {
  type Context,
  type Imsi,
  nodeIdentityRef,
  subscribersRef,
  systemPrincipal,
  type Technology,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import type { SessionFaults } from './lost-sessions.ts'

/** Hashes in one audit entry; more are counted. */
const MOST_NAMED = 50

/** Of these phones the ones whose SIM was issued or imported here and may be on. */
export async function phonesOfOurs(
  context: Context,
  phones: SessionFaults['phones'],
): Promise<SessionFaults['phones']> {
  const subscribers = context.maybe(subscribersRef)
  const ours = new Map<Imsi, Technology>()
  for (const [imsi, technology] of phones) {
    const known = await subscribers?.find(imsiHash(imsi))
    if (known?.state === 'issued' || known?.state === 'in-use') ours.set(imsi, technology)
  }
  return ours
}

/** Writes into the trail whose phones are told to attach again. Throws while the store takes no writes. */
export async function recordRecall(context: Context, phones: SessionFaults['phones']): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  const sims = [...phones.keys()].map((imsi) => imsiHash(imsi))
  await context.mutate(systemPrincipal('core_config'), 'core.recall', target, async (tx) => {
    tx.audit({
      detail: {
        core: 'core_a',
        phones: sims.length,
        sims: sims.slice(0, MOST_NAMED),
        reason: 'attached, and the SMF has no session of theirs',
      },
    })
  })
}
