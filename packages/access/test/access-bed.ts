import { type FakeClock, fakeClock, loadTestbed, pluginFrom, type Testbed } from '@steeple/testkit'
import { pluginWith } from '../src/plugin.ts'
import { type Front, frontOf } from './people-front.ts'

/** The plugin in a testbed, its clock, and people at its door. */
export interface AccessBed {
  readonly bed: Testbed
  readonly clock: FakeClock
  readonly front: Front
}

/** What passwords cost here: how hard one is to guess is not what these tests are about. */
const PASSWORD_COST = { n: 16, r: 1, p: 1 }

/** Starts one, in June 2026. */
export async function accessBed(): Promise<AccessBed> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(Date.UTC(2026, 5, 1))
  const bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, pluginWith(PASSWORD_COST))],
    clock,
  })
  return { bed, clock, front: frontOf(bed, clock) }
}
