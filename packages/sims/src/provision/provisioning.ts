import type { ImsiHash, SimProvisioning, SimWanted } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/change.ts'
import { SIMS, type SimRow, simsOf } from '../store/sim-store.ts'
import { subscriberOf } from './push.ts'

/** SIMs for the HSS of another node. */
export function simProvisioning({ context, vault }: Pick<SimsParts, 'context' | 'vault'>): SimProvisioning {
  return {
    list: async (after, limit) => {
      const { rows } = await SIMS.sound(context.db, 'where hash > :after order by hash limit :limit', {
        after,
        limit,
      })
      return rows.map(wantedOf)
    },
    among: async (imsis) => (await simsOf(context.db, imsis)).map(wantedOf),
    subscriber: async (imsi) => {
      const row = await SIMS.find(context.db, { hash: imsi })
      return row === undefined ? undefined : subscriberOf(vault, row)
    },
  }
}

function wantedOf({ hash, state, generation, issued_at_ms: issuedAtMs }: SimRow): SimWanted {
  // A hash of the store is one.
  return { imsi: hash as ImsiHash, wanted: wantedInHss(state), generation, issuedAtMs }
}
