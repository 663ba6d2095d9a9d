import { assert, eventually } from '@steeple/testkit'
import type { TapSnapshot, UpfTap } from '../../src/upf-tap.ts'
import { mixed, truthOf } from './frames.ts'
import { NEVER, octetsOf } from './taps.ts'

/** What is sent, and what it must come to. */
export const PACKETS = mixed(20_000)
const TRUTH = truthOf(PACKETS)
/** Packets a second. */
export const RATES = [20_000, 100_000, 300_000]

/** `truth`, so many times. */
export function times(truth: ReadonlyMap<string, readonly [number, number]>, count: number): object {
  return Object.fromEntries([...truth].map(([phone, [up, down]]) => [phone, [up * count, down * count]]))
}

/** Waits until it has counted `PACKETS` so many times. */
export async function readsExactly(tap: UpfTap, count: number): Promise<TapSnapshot> {
  return await eventually(async () => {
    const snapshot = await tap.snapshot(undefined, NEVER)
    assert.equal(Object.fromEntries(octetsOf(snapshot)), times(TRUTH, count))
    return snapshot
  })
}
