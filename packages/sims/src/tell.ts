import type { ObservedTx } from '@steeple/contracts'

/** What became of one SIM by itself. */
export interface SimNews {
  readonly type: 'sim.synced' | 'sim.pending' | 'sim.refused' | 'sim.attached' | 'sim.detached'
  readonly hash: string
}

/** Events of single SIMs in one transaction. An import, or an HSS or a core that was away, changes thousands at once. */
const MOST_EVENTS = 20

/** Tells of each SIM, or of how many when there are too many. */
export function tellOfSims(tx: Pick<ObservedTx, 'event'>, news: readonly SimNews[]): void {
  if (news.length <= MOST_EVENTS) {
    for (const { type, hash } of news) tx.event({ type, subject: hash })
    return
  }
  const counts: Record<string, number> = {}
  for (const { type } of news) {
    const noun = type.slice('sim.'.length)
    counts[noun] = (counts[noun] ?? 0) + 1
  }
  tx.event({ type: 'sim.many', subject: 'sims', data: counts })
}
