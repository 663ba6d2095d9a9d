import type { QuotaKeeper } from '@steeple/contracts'
import { accountsOf } from './account.ts'
import { type FairUseParts, QUOTA_RESOURCE } from './parts.ts'
import { letGo } from './store/quota-state-store.ts'
import { newQuota, QUOTAS, quotasOf } from './store/quota-store.ts'

export function quotaKeeper(parts: FairUseParts): QuotaKeeper {
  const { context, clock, ledger } = parts
  return {
    used: async (imsis, tx) => {
      const reader = tx === undefined ? context.db : context.db.join(tx)
      const accounts = await accountsOf(reader, imsis, clock)
      const others = imsis.filter((imsi) => !accounts.has(imsi))
      const { startMs, endMs } = clock.calendar.spanOf('month', clock.now().atMs)
      const sums = await ledger.sums(others, startMs, endMs, tx)
      return new Map(
        imsis.map((imsi) => {
          const account = accounts.get(imsi)
          const usedBytes = account?.usedBytes ?? sums.get(imsi) ?? 0
          return [imsi, { usedBytes, limitBytes: account?.limitBytes }]
        }),
      )
    },
    granted: async (tx, imsis, quotaBytes, like) => {
      const own = context.db.join(tx)
      const model = like === undefined ? undefined : (await quotasOf(own, [like])).get(like)
      for (const imsi of imsis) {
        await QUOTAS.put(own, newQuota(imsi, quotaBytes, clock, model))
        if (quotaBytes === 0) tx.dirty(QUOTA_RESOURCE, imsi, true)
      }
    },
    keepsOff: async (tx, imsi, isOverride) => {
      const own = context.db.join(tx)
      const account = (await accountsOf(own, [imsi], clock)).get(imsi)
      if (account === undefined || !account.isOver || account.isFree) return false
      await letGo(own, imsi)
      // Another one than the quota may let it on: then it is the quota's turn.
      tx.dirty(QUOTA_RESOURCE, imsi, true)
      if (isOverride) await QUOTAS.put(own, { ...account.quota, free_from_ms: account.startMs })
      return !isOverride
    },
  }
}
