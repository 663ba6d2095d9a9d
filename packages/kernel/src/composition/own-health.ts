import { type ClockKeeper, clockHealth } from '@steeple/clock'
import { clusterHealth } from '@steeple/reconcile'
import type { HealthPoller } from '../health.ts'
import type { Mutations } from '../mutation/mutations.ts'
import type { Housekeeping } from './housekeeping.ts'

/** Has the board ask what is the kernel's own: the store, the instances that share it, the clock. */
export function watchOwn(
  health: Pick<HealthPoller, 'watch'>,
  parts: {
    readonly housekeeping: Pick<Housekeeping, 'health'>
    readonly cluster: { view(): Parameters<typeof clusterHealth>[0] }
    readonly timekeeper: ClockKeeper
    readonly mutations: Mutations
  },
): void {
  const { housekeeping, cluster, timekeeper, mutations } = parts
  const feature = { kind: 'feature', required: false } as const
  health.watch('store', { kind: 'store', required: true }, () => housekeeping.health())
  health.watch('cluster', feature, async () => clusterHealth(cluster.view()))
  health.watch('clock', feature, async () => {
    await timekeeper.review(mutations)
    return [clockHealth(timekeeper.view())]
  })
}
