import { type Context, type Imsi, nodeIdentityRef, subscribersRef, systemPrincipal } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'

/** Hashes in one audit entry; more are counted. */
const MOST_NAMED = 50

/** Of these phones the ones whose SIM was issued or imported here and may be on. */
export async function phonesOfOurs(context: Context, phones: Iterable<Imsi>): Promise<ReadonlySet<Imsi>> {
  const subscribers = context.maybe(subscribersRef)
  const ours = new Set<Imsi>()
  for (const imsi of phones) {
    const known = await subscribers?.find(imsiHash(imsi))
    if (known?.state === 'issued' || known?.state === 'in-use') ours.add(imsi)
  }
  return ours
}

/** Writes into the trail whose phones are told to attach again, and why. Throws while the store takes no writes. */
export async function recordRecall(
  context: Context,
  phones: Iterable<Imsi>,
  why: { readonly core: 'core_a' | 'core_b'; readonly reason: string },
): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  const sims = [...phones].map((imsi) => imsiHash(imsi))
  await context.mutate(systemPrincipal('core_config'), 'core.recall', target, async (tx) => {
    tx.audit({
      detail: { core: why.core, phones: sims.length, sims: sims.slice(0, MOST_NAMED), reason: why.reason },
    })
  })
}
