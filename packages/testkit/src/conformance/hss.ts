import type { BatchResult, HssDriver, Imsi, Subscriber } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import type { BodyOptions } from '../suite.ts'
import { changesNothing, fixtureSuite, honoursAbort, patient, type WorldFixture } from './common.ts'

/** An HSS driver around a simulated or real subscriber store that holds none of `subscribers`. */
export interface HssFixture extends WorldFixture {
  readonly driver: HssDriver
  /** At least two, unblocked, with different IMSIs and a SQN above 0. Fresh buffers. */
  readonly subscribers: readonly Subscriber[]
  /** The sequence number that the HSS holds, read past the driver; undefined when it has no such subscriber. */
  storedSqn(imsi: Imsi): Promise<bigint | undefined>
}

function allWorked(result: BatchResult, imsis: readonly Imsi[]): void {
  assert.is(result.size, imsis.length, 'there must be one result per subscriber')
  for (const imsi of imsis) {
    assert.ok(result.has(imsi), 'every subscriber must have a result')
    assert.is(result.get(imsi), undefined)
  }
}

function imsisOf(fixture: HssFixture): readonly Imsi[] {
  return fixture.subscribers.map((subscriber) => subscriber.imsi)
}

/**
 * Registers the tests that every HSS driver passes. `make` gives a fresh fixture for each test. `options` are for drivers
 * that start a program for each step.
 */
export function hssDriverConformance(
  name: string,
  make: () => Promise<HssFixture>,
  options: BodyOptions = {},
): void {
  const hss = fixtureSuite(`${name}: HSS driver conformance`, make, options)
  const pushed = async (fixture: HssFixture): Promise<readonly Imsi[]> => {
    const imsis = imsisOf(fixture)
    allWorked(await fixture.driver.upsert(fixture.subscribers, patient()), imsis)
    return imsis
  }

  hss('observes nothing of subscribers that were never pushed', async (fixture) => {
    assert.is((await fixture.driver.observe(imsisOf(fixture), patient())).size, 0)
  })

  hss('observes what it pushed, without keys', async (fixture) => {
    const seen = await fixture.driver.observe(await pushed(fixture), patient())
    for (const { imsi, apns, ambrBps, isBlocked } of fixture.subscribers) {
      assert.equal(seen.get(imsi), { imsi, apns, ambrBps, isBlocked })
    }
  })

  hss('observes without changing anything', async (fixture) => {
    const imsis = await pushed(fixture)
    await changesNothing(fixture, () => fixture.driver.observe(imsis, patient()))
  })

  hss('pushes the same subscribers twice without a second effect', async (fixture) => {
    await pushed(fixture)
    await changesNothing(fixture, () => fixture.driver.upsert(fixture.subscribers, patient()))
  })

  hss('never lowers a sequence number', async (fixture) => {
    await pushed(fixture)
    const lowered = fixture.subscribers.map((subscriber) => ({ ...subscriber, sqn: 0n }))
    await fixture.driver.upsert(lowered, patient())
    for (const { imsi, sqn } of fixture.subscribers) assert.is(await fixture.storedSqn(imsi), sqn)
  })

  hss('leaves the key buffers of its caller alone', async (fixture) => {
    const before = fixture.subscribers.map(({ ki, opc }) => [ki.slice(), opc.slice()])
    await pushed(fixture)
    assert.equal(
      fixture.subscribers.map(({ ki, opc }) => [ki.slice(), opc.slice()]),
      before,
    )
  })

  hss('blocks and unblocks without touching the rest', async (fixture) => {
    const imsis = await pushed(fixture)
    const before = await fixture.driver.observe(imsis, patient())
    const worldBefore = await fixture.world()
    for (const isBlocked of [true, true, false]) {
      allWorked(await fixture.driver.setBlocked(imsis, isBlocked, patient()), imsis)
      const seen = await fixture.driver.observe(imsis, patient())
      for (const imsi of imsis) assert.equal(seen.get(imsi), { ...before.get(imsi), isBlocked })
    }
    assert.is(await fixture.world(), worldBefore)
  })

  hss('removes what it pushed, and removing the absent succeeds', async (fixture) => {
    const imsis = await pushed(fixture)
    allWorked(await fixture.driver.remove(imsis, patient()), imsis)
    assert.is((await fixture.driver.observe(imsis, patient())).size, 0)
    allWorked(await fixture.driver.remove(imsis, patient()), imsis)
  })

  hss('honours an aborted signal', async (fixture) => {
    const imsis = await pushed(fixture)
    await honoursAbort(fixture, (signal) => fixture.driver.observe(imsis, signal), 'observe')
    await honoursAbort(fixture, (signal) => fixture.driver.upsert(fixture.subscribers, signal), 'upsert')
    await honoursAbort(fixture, (signal) => fixture.driver.setBlocked(imsis, true, signal), 'setBlocked')
    await honoursAbort(fixture, (signal) => fixture.driver.remove(imsis, signal), 'remove')
  })

  hss.run()
}
