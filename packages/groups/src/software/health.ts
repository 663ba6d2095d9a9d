import type { ComponentHealth, Db } from '@steeple/contracts'
import { ONLY, ROLLOUTS, SOFTWARE } from '../store.ts'

/** At a hub a roll-out that has stopped, at a box a build that it went back from; nothing while all is well. */
export async function softwareHealth(db: Db): Promise<readonly ComponentHealth[]> {
  const stopped = (await ROLLOUTS.select(db, '')).find(({ stage }) => stage === 'stopped')
  const own = await SOFTWARE.find(db, { id: ONLY })
  const detail =
    stopped !== undefined
      ? `build ${stopped.build} goes to no more boxes: ${stopped.stopped_by} refused it or went back; set the group to another build`
      : own?.status === 'went_back'
        ? `this box went back from build ${own.build}: ${own.problem}`
        : undefined
  return detail === undefined ? [] : [{ name: 'groups', kind: 'feature', status: 'degraded', detail }]
}
