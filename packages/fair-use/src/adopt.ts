import { createPause, type ImsiHash } from '@steeple/contracts'
import { newQuota } from './new-quota.ts'
import type { FairUseParts } from './parts.ts'
import { periodsOf, QUOTAS, quotasOf } from './store/quota-store.ts'
import { heldOffAfter, putStanding, standingsOf } from './store/standing-store.ts'

/** SIMs of one transaction. */
const CHUNK = 200

/** Takes over what has become of SIMs while this plugin was away. */
export async function adopt(parts: FairUseParts): Promise<void> {
  await adoptQuotas(parts)
  await noticeResumed(parts)
}

async function adoptQuotas({ context, subscribers, clock }: FairUseParts): Promise<void> {
  for (let after = ''; ; ) {
    const sims = await subscribers.withQuota(after, CHUNK)
    const hashes = sims.map(({ imsi }) => imsi)
    await context.db.write(async (tx) => {
      const quotas = await quotasOf(tx, hashes)
      const known: ReadonlyMap<string, unknown> = await periodsOf(tx, hashes)
      for (const { imsi, quotaBytes } of sims) {
        const quota = quotas.get(imsi)
        // A damaged row is left to whoever mends it.
        if (!known.has(imsi)) await QUOTAS.insert(tx, newQuota(imsi, quotaBytes, clock))
        else if (quota !== undefined && quota.quota_bytes !== quotaBytes)
          await QUOTAS.put(tx, { ...quota, quota_bytes: quotaBytes })
      }
    })
    const last = sims.at(-1)
    if (sims.length < CHUNK || last === undefined) return
    after = last.imsi
  }
}

/** Whom an operator has let on is not held off any more: it is the quota's turn again. */
async function noticeResumed({ context, subscribers }: FairUseParts): Promise<void> {
  const pause = createPause()
  for (let after = ''; ; ) {
    const hashes = await heldOffAfter(context.db, after, CHUNK)
    const resumed: string[] = []
    for (const hash of hashes) {
      // A hash of the store is one. A damaged row is left to whoever mends it.
      const state = (await subscribers.find(hash as ImsiHash).catch(() => undefined))?.state
      if (state === 'issued' || state === 'in-use') resumed.push(hash)
    }
    if (resumed.length > 0)
      await context.db.write(async (tx) => {
        for (const standing of (await standingsOf(tx, resumed)).values())
          if (standing.held === 'suspend')
            await putStanding(tx, { ...standing, held: null, held_from_ms: null })
      })
    const last = hashes.at(-1)
    if (hashes.length < CHUNK || last === undefined) return
    after = last
    await pause()
  }
}
