import { keysetPages, type MutationTx } from '@steeple/contracts'
import { BY } from '../home/plan.ts'
import { othersOf, type RoamingParts, VISITOR_RESOURCE } from '../parts.ts'
import { ENDED, homesOfVisitors, lapsedVisitors, VISITORS, type VisitorRow, visitorsAfter } from '../store.ts'

/** Visitors of one mutation. */
const CHUNK = 200
/** A home that was away for a month may still count a visit. */
const KEPT_MS = 60 * 86_400_000

/**
 * Ends leases that were not renewed, and all of a home that is no member any more. By the time that the service goes by: while the clock is
 * not believed that is the time that it was up.
 */
export async function endLapsed(parts: RoamingParts): Promise<void> {
  const { context } = parts
  await forgetOld(parts)
  for (;;) {
    const lapsed = await lapsedVisitors(context.db, context.clock.nowMs(), CHUNK)
    if (lapsed.length === 0) break
    await end(parts, lapsed, 'the lease was not renewed')
  }
  const others = await othersOf(parts)
  if (others === undefined) return
  for (const home of await homesOfVisitors(context.db)) {
    if (others.has(home)) continue
    const pages = keysetPages(
      (after) => visitorsAfter(context.db, { after, limit: CHUNK, home }),
      ({ hash }) => hash,
    )
    for await (const page of pages) await end(parts, page, 'its home is no member of the mesh')
  }
}

/** What no home has counted for so long is of a SIM or a box that is no more. */
async function forgetOld({ context: { db, clock } }: RoamingParts): Promise<void> {
  const params = { before: clock.nowMs() - KEPT_MS, limit: CHUNK }
  const old = await ENDED.select(db, 'where ended_at_ms < :before limit :limit', params)
  if (old.length === 0) return
  await db.write(async (tx) => {
    for (const { hash, home_id } of old) await ENDED.remove(tx, { hash, home_id })
  })
}

async function end({ context }: RoamingParts, visitors: readonly VisitorRow[], why: string): Promise<void> {
  for (const home of new Set(visitors.map(({ home_id }) => home_id))) {
    const all = visitors.filter(({ home_id, wanted }) => home_id === home && wanted !== 'ended')
    if (all.length === 0) continue
    await context.mutate(BY, 'roaming.lapse', home, async (tx: MutationTx) => {
      const ended: string[] = []
      for (const { hash, revision } of all) {
        const now = await VISITORS.find(tx, { hash })
        // Renewed meanwhile.
        if (now === undefined || now.revision !== revision || now.until_ms > context.clock.nowMs()) {
          if (now === undefined || why !== 'its home is no member of the mesh') continue
        }
        await VISITORS.put(tx, { ...now, wanted: 'ended' })
        tx.dirty(VISITOR_RESOURCE, hash, true)
        ended.push(hash)
      }
      tx.audit({ detail: { sims: ended, why } })
    })
  }
}
