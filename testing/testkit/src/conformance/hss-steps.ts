import type { BatchResult, Imsi, Subscriber, SubscriberObserved } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { changesTheWorld, patient } from './common.ts'
import type { HssFixture } from './hss.ts'

/** There is one result for each, and each went well. */
export function allWorked(result: BatchResult, imsis: readonly Imsi[]): void {
  assert.is(result.size, imsis.length, 'there must be one result per subscriber')
  for (const imsi of imsis) {
    assert.ok(result.has(imsi), 'every subscriber must have a result')
    assert.is(result.get(imsi), undefined)
  }
}

/** Who they are. */
export function imsisOf(subscribers: readonly Subscriber[]): readonly Imsi[] {
  return subscribers.map(({ imsi }) => imsi)
}

/** Pushes them, which must work for each; gives who they are. */
export async function push(
  fixture: HssFixture,
  subscribers: readonly Subscriber[],
): Promise<readonly Imsi[]> {
  const imsis = imsisOf(subscribers)
  allWorked(await fixture.driver.upsert(subscribers, patient()), imsis)
  return imsis
}

/** Blocks or unblocks them, which must work for each. */
export async function block(fixture: HssFixture, imsis: readonly Imsi[], isBlocked: boolean): Promise<void> {
  allWorked(await fixture.driver.setBlocked(imsis, isBlocked, patient()), imsis)
}

/** Copies: `slice` of a Buffer is the same memory. */
export function keysOf({ ki, opc }: Subscriber): readonly Uint8Array[] {
  return [Uint8Array.from(ki), Uint8Array.from(opc)]
}

/** The first two subscribers of a fixture. */
export function pair({ subscribers }: HssFixture): readonly [Subscriber, Subscriber] {
  const [one, other] = subscribers
  assert.ok(one !== undefined && other !== undefined, 'the fixture must give two subscribers')
  return [one, other]
}

/** What `observe` must give of a subscriber: all but its secrets, and no MSISDN where there is none. */
export function shown({ imsi, apns, ambrBps, isBlocked, msisdn }: Subscriber): SubscriberObserved {
  return { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) }
}

/** What a driver sees of a subscriber, without what it may leave out. */
export async function seen(fixture: HssFixture, imsi: Imsi): Promise<SubscriberObserved | undefined> {
  const found = (await fixture.driver.observe([imsi], patient())).get(imsi)
  if (found === undefined) return undefined
  const { apns, ambrBps, isBlocked, msisdn } = found
  return shown({ imsi, apns, ambrBps, isBlocked, msisdn } as Subscriber) // what is not read is not needed
}

/** The HSS must show that subscriber as it is. */
export async function holds(fixture: HssFixture, wanted: Subscriber): Promise<void> {
  assert.equal(await seen(fixture, wanted.imsi), shown(wanted))
}

/** The HSS must hold these keys of a subscriber; `why` is said when it does not. */
export async function holdsKeys(
  fixture: HssFixture,
  { imsi, ki, opc }: Subscriber,
  why: string,
): Promise<void> {
  const stored = await fixture.stored(imsi)
  assert.ok(stored !== undefined, 'the HSS must hold the subscriber')
  assert.ok(Buffer.from(ki).equals(stored.ki), `Ki: ${why}`)
  assert.ok(Buffer.from(opc).equals(stored.opc), `OPc: ${why}`)
}

/** The one subscriber pushed, then pushed again with that change: the HSS holds it, nobody else has changed. */
export async function takesChange(
  fixture: HssFixture,
  change: (before: Subscriber) => Subscriber,
  from: (subscriber: Subscriber) => Subscriber = (same) => same,
): Promise<void> {
  const [one, other] = pair(fixture)
  const before = from(one)
  await push(fixture, [before, other])
  await holds(fixture, before)
  const after = change(before)
  await changesTheWorld(fixture, 'a change', () => push(fixture, [after]))
  await holds(fixture, after)
  await holds(fixture, other)
  await changesTheWorld(fixture, 'the way back', () => push(fixture, [before]))
  await holds(fixture, before)
}
