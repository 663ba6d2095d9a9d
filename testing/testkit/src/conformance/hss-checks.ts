import type { BatchResult, Imsi, Subscriber, SubscriberObserved } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { type Check, changesNothing, changesTheWorld, honoursAbort, patient } from './common.ts'
import type { HssFixture } from './hss.ts'
import { COMPARING } from './hss-compare-checks.ts'
import { HARD } from './hss-hard-checks.ts'

/** Digits of a test number; TS 23.003 §3.3 allows 15. */
const MSISDN = '491700000001'
const OTHER_MSISDN = '491700000002'
const OTHER_AMBR = { up: 3_000_000, down: 7_000_000 }

/** Whoever cannot write it must not claim to hold it. */
async function ignoresMsisdn(fixture: HssFixture): Promise<void> {
  const [one] = pair(fixture)
  await fixture.driver.upsert([{ ...one, msisdn: MSISDN }], patient())
  await holds(fixture, one)
}

const PUSHING: readonly Check<HssFixture>[] = [
  {
    sentence: 'observes nothing of subscribers that were never pushed',
    body: async ({ driver, subscribers }) => {
      assert.is((await driver.observe(imsisOf(subscribers), patient())).size, 0)
    },
  },
  {
    sentence: 'observes what it pushed, without keys',
    body: async (fixture) => {
      const imsis = await push(fixture, fixture.subscribers)
      const all = await fixture.driver.observe(imsis, patient())
      assert.is(all.size, imsis.length)
      for (const subscriber of fixture.subscribers) {
        assert.equal(await seen(fixture, subscriber.imsi), shown(subscriber))
        const values = Object.values(all.get(subscriber.imsi) ?? {})
        assert.not.ok(
          values.some((value) => value instanceof Uint8Array),
          'no key may be observed',
        )
      }
    },
  },
  {
    sentence: 'stores Ki, OPc and SQN as they were given, also after its caller has zeroed them',
    body: async (fixture) => {
      const copies = fixture.subscribers.map((each) => ({
        ...each,
        ki: Uint8Array.from(each.ki),
        opc: Uint8Array.from(each.opc),
      }))
      await push(fixture, copies)
      for (const { ki, opc } of copies) {
        ki.fill(0)
        opc.fill(0)
      }
      for (const subscriber of fixture.subscribers) {
        await holdsKeys(fixture, subscriber, 'the HSS holds another one than was pushed')
        assert.is((await fixture.stored(subscriber.imsi))?.sqn, subscriber.sqn)
      }
    },
  },
  {
    sentence: 'leaves the key buffers of its caller alone',
    body: async (fixture) => {
      const before = fixture.subscribers.map(keysOf)
      await push(fixture, fixture.subscribers)
      const after = fixture.subscribers.map(keysOf)
      assert.equal(after, before)
    },
  },
  {
    sentence: 'pushes the same subscribers twice without a second effect',
    body: async (fixture) => {
      await push(fixture, fixture.subscribers)
      await changesNothing(fixture, () => fixture.driver.upsert(fixture.subscribers, patient()))
    },
  },
  {
    sentence: 'never writes a sequence number that is there, neither lower nor higher',
    body: async (fixture) => {
      await push(fixture, fixture.subscribers)
      for (const by of [(sqn: bigint) => 0n * sqn, (sqn: bigint) => sqn + 4_096n]) {
        await push(
          fixture,
          fixture.subscribers.map((subscriber) => ({ ...subscriber, sqn: by(subscriber.sqn) })),
        )
        for (const { imsi, sqn } of fixture.subscribers) assert.is((await fixture.stored(imsi))?.sqn, sqn)
      }
    },
  },
]

const CHANGING: readonly Check<HssFixture>[] = [
  {
    sentence: 'takes other APNs, more and fewer, or says of whom it cannot',
    body: async (fixture) => {
      const more = (before: Subscriber): Subscriber => ({
        ...before,
        apns: [...before.apns, 'added.example'],
      })
      if (fixture.cannot?.includes('fewer APNs') !== true) return await takesChange(fixture, more)
      const [one, other] = pair(fixture)
      await push(fixture, [one, other])
      await push(fixture, [more(one)])
      await holds(fixture, more(one))
      const result = await fixture.driver.upsert([one, other], patient())
      assert.instance(result.get(one.imsi), Error, 'an APN that stays must not be called gone')
      assert.is(result.get(other.imsi), undefined)
      await holds(fixture, other)
    },
  },
  {
    sentence: 'takes another AMBR, up and down for themselves',
    body: (fixture) => takesChange(fixture, (before) => ({ ...before, ambrBps: OTHER_AMBR })),
  },
  {
    sentence: 'takes an MSISDN, another one, and none again',
    body: async (fixture) => {
      if (fixture.cannot?.includes('MSISDN') === true) return await ignoresMsisdn(fixture)
      await takesChange(fixture, (before) => ({ ...before, msisdn: MSISDN }))
      await takesChange(
        fixture,
        (before) => ({ ...before, msisdn: OTHER_MSISDN }),
        (one) => ({ ...one, msisdn: MSISDN }),
      )
    },
  },
  {
    sentence: 'takes other keys and leaves the sequence number and the others',
    body: async (fixture) => {
      const [one, other] = pair(fixture)
      await push(fixture, [one, other])
      const ki = one.ki.map((octet) => octet ^ 0x5a)
      const opc = one.opc.map((octet) => octet ^ 0xa5)
      await push(fixture, [{ ...one, ki, opc }])
      const isRefused = fixture.cannot?.includes('keys') === true
      await holdsKeys(fixture, isRefused ? one : { ...one, ki, opc }, 'a new key must reach the HSS')
      await holdsKeys(fixture, other, 'the key of somebody else has changed')
      assert.is((await fixture.stored(one.imsi))?.sqn, one.sqn)
    },
  },
  {
    sentence: 'pushes again what an emptied HSS has lost, and sees that it is lost',
    body: async (fixture) => {
      const imsis = await push(fixture, fixture.subscribers)
      await fixture.empty()
      assert.is((await fixture.driver.observe(imsis, patient())).size, 0)
      await push(fixture, fixture.subscribers)
      for (const subscriber of fixture.subscribers) {
        await holds(fixture, subscriber)
        await holdsKeys(fixture, subscriber, 'pushed again')
      }
    },
  },
]

const BLOCKING: readonly Check<HssFixture>[] = [
  {
    sentence: 'pushes a subscriber that is blocked from the start',
    body: async (fixture) => {
      const [one, other] = pair(fixture)
      await push(fixture, [{ ...one, isBlocked: true }, other])
      await holds(fixture, { ...one, isBlocked: true })
      await holds(fixture, other)
    },
  },
  {
    sentence: 'keeps a blocked subscriber blocked when it is pushed with a change',
    body: async (fixture) => {
      const [one, other] = pair(fixture)
      const imsis = await push(fixture, [one, other])
      await block(fixture, imsis, true)
      const changed = { ...one, isBlocked: true, ambrBps: OTHER_AMBR }
      await push(fixture, [changed])
      await holds(fixture, changed)
      await holds(fixture, { ...other, isBlocked: true })
      await block(fixture, [one.imsi], false)
      await holds(fixture, { ...changed, isBlocked: false })
    },
  },
  {
    sentence: 'blocks and unblocks by a push as well',
    body: (fixture) => takesChange(fixture, (before) => ({ ...before, isBlocked: true })),
  },
  {
    sentence: 'blocks and unblocks without touching the rest',
    body: async (fixture) => {
      const imsis = await push(fixture, fixture.subscribers)
      const worldBefore = await fixture.world()
      for (const isBlocked of [true, true, false]) {
        await block(fixture, imsis, isBlocked)
        for (const subscriber of fixture.subscribers) {
          await holds(fixture, { ...subscriber, isBlocked })
          await holdsKeys(fixture, subscriber, 'a block leaves the keys')
        }
        if (isBlocked) assert.is.not(await fixture.world(), worldBefore, 'a block must reach the HSS')
      }
      assert.is(await fixture.world(), worldBefore)
    },
  },
  {
    sentence: 'blocks only whom it is told to',
    body: async (fixture) => {
      const [one, other] = pair(fixture)
      await push(fixture, [one, other])
      await block(fixture, [one.imsi], true)
      await holds(fixture, { ...one, isBlocked: true })
      await holds(fixture, other)
    },
  },
  {
    sentence: 'says of an absent subscriber that it cannot be blocked, makes none, and blocks the others',
    body: async (fixture) => {
      const [one, absent] = pair(fixture)
      await push(fixture, [one])
      const result = await fixture.driver.setBlocked([absent.imsi, one.imsi], true, patient())
      assert.is(result.size, 2, 'there must be one result per subscriber')
      assert.instance(result.get(absent.imsi), Error, 'an absent subscriber is not blocked')
      assert.is(result.get(one.imsi), undefined)
      await holds(fixture, { ...one, isBlocked: true })
      assert.is(await fixture.stored(absent.imsi), undefined)
    },
  },
]

const LEAVING: readonly Check<HssFixture>[] = [
  {
    sentence: 'observes without changing anything, and only whom it is asked for',
    body: async (fixture) => {
      const imsis = await push(fixture, fixture.subscribers)
      await changesNothing(fixture, () => fixture.driver.observe(imsis, patient()))
      const [one] = pair(fixture)
      assert.equal([...(await fixture.driver.observe([one.imsi], patient())).keys()], [one.imsi])
      assert.is((await fixture.driver.observe([], patient())).size, 0)
    },
  },
  {
    sentence: 'removes whom it is told to and nobody else',
    body: async (fixture) => {
      const [one, other] = pair(fixture)
      await push(fixture, [one, other])
      allWorked(await fixture.driver.remove([one.imsi], patient()), [one.imsi])
      assert.is(await seen(fixture, one.imsi), undefined)
      assert.is(await fixture.stored(one.imsi), undefined, 'its keys must be gone from the HSS')
      await holds(fixture, other)
      await holdsKeys(fixture, other, 'of one who stays')
    },
  },
  {
    sentence: 'removes who is blocked, and the absent again',
    body: async (fixture) => {
      const imsis = await push(fixture, fixture.subscribers)
      await block(fixture, imsis.slice(0, 1), true)
      for (const _ of [1, 2]) {
        allWorked(await fixture.driver.remove(imsis, patient()), imsis)
        assert.is((await fixture.driver.observe(imsis, patient())).size, 0)
        for (const imsi of imsis) assert.is(await fixture.stored(imsi), undefined)
      }
    },
  },
  {
    sentence: 'honours an aborted signal',
    body: async (fixture) => {
      const { driver, subscribers } = fixture
      await honoursAbort(fixture, (signal) => driver.upsert(subscribers, signal), 'upsert')
      const imsis = await push(fixture, subscribers)
      await honoursAbort(fixture, (signal) => driver.observe(imsis, signal), 'observe')
      await honoursAbort(fixture, (signal) => driver.setBlocked(imsis, true, signal), 'setBlocked')
      await honoursAbort(fixture, (signal) => driver.remove(imsis, signal), 'remove')
    },
  },
]

/** What every HSS driver must do. Each mutant fails at least one. */
export const HSS_CHECKS: readonly Check<HssFixture>[] = [
  ...PUSHING,
  ...CHANGING,
  ...BLOCKING,
  ...LEAVING,
  ...HARD,
  ...COMPARING,
]

/** There is one result for each, and each went well. */
function allWorked(result: BatchResult, imsis: readonly Imsi[]): void {
  assert.is(result.size, imsis.length, 'there must be one result per subscriber')
  for (const imsi of imsis) {
    assert.ok(result.has(imsi), 'every subscriber must have a result')
    assert.is(result.get(imsi), undefined)
  }
}

/** Who they are. */
function imsisOf(subscribers: readonly Subscriber[]): readonly Imsi[] {
  return subscribers.map(({ imsi }) => imsi)
}

/** Pushes them, which must work for each; gives who they are. */
async function push(fixture: HssFixture, subscribers: readonly Subscriber[]): Promise<readonly Imsi[]> {
  const imsis = imsisOf(subscribers)
  allWorked(await fixture.driver.upsert(subscribers, patient()), imsis)
  return imsis
}

/** Blocks or unblocks them, which must work for each. */
async function block(fixture: HssFixture, imsis: readonly Imsi[], isBlocked: boolean): Promise<void> {
  allWorked(await fixture.driver.setBlocked(imsis, isBlocked, patient()), imsis)
}

/** Copies: `slice` of a Buffer is the same memory. */
function keysOf({ ki, opc }: Subscriber): readonly Uint8Array[] {
  return [Uint8Array.from(ki), Uint8Array.from(opc)]
}

/** The first two subscribers of a fixture. */
function pair({ subscribers }: HssFixture): readonly [Subscriber, Subscriber] {
  const [one, other] = subscribers
  assert.ok(one !== undefined && other !== undefined, 'the fixture must give two subscribers')
  return [one, other]
}

/** What `observe` must give of a subscriber: all but its secrets, and no MSISDN where there is none. */
function shown({ imsi, apns, ambrBps, isBlocked, msisdn }: Subscriber): SubscriberObserved {
  return { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) }
}

/** What a driver sees of a subscriber, without what it may leave out. */
async function seen(fixture: HssFixture, imsi: Imsi): Promise<SubscriberObserved | undefined> {
  const found = (await fixture.driver.observe([imsi], patient())).get(imsi)
  if (found === undefined) return undefined
  const { apns, ambrBps, isBlocked, msisdn } = found
  return shown({ imsi, apns, ambrBps, isBlocked, msisdn } as Subscriber) // what is not read is not needed
}

/** The HSS must show that subscriber as it is. */
async function holds(fixture: HssFixture, wanted: Subscriber): Promise<void> {
  assert.equal(await seen(fixture, wanted.imsi), shown(wanted))
}

/** The HSS must hold these keys of a subscriber; `why` is said when it does not. */
async function holdsKeys(fixture: HssFixture, { imsi, ki, opc }: Subscriber, why: string): Promise<void> {
  const stored = await fixture.stored(imsi)
  assert.ok(stored !== undefined, 'the HSS must hold the subscriber')
  assert.ok(Buffer.from(ki).equals(stored.ki), `Ki: ${why}`)
  assert.ok(Buffer.from(opc).equals(stored.opc), `OPc: ${why}`)
}

/** The one subscriber pushed, then pushed again with that change: the HSS holds it, nobody else has changed. */
async function takesChange(
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
