import type {
  BatchResult,
  Imsi,
  Subscriber,
  SubscriberDifference,
  SubscriberHeld,
  SubscriberObserved,
} from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { type Check, changesNothing, changesTheWorld, honoursAbort, patient } from './common.ts'
import type { HssFixture } from './hss.ts'
import { HARD } from './hss-hard-checks.ts'

/** What the driver tells of these; undefined for one that cannot compare. */
async function told(
  { driver }: HssFixture,
  subscribers: readonly Subscriber[],
): Promise<ReadonlyMap<Imsi, SubscriberDifference> | undefined> {
  return await driver.compare?.(subscribers, patient())
}

/** Whether a name gives something of a key away. */
function holdsKey(names: readonly string[], { ki, opc }: Subscriber): boolean {
  const hex = [ki, opc].map((key) => Buffer.from(key).toString('hex'))
  return hex.some((key) => names.some((name) => name.toLowerCase().includes(key)))
}

/** What a driver that compares must tell. One that does not passes. */
const COMPARING: readonly Check<HssFixture>[] = [
  {
    sentence: 'tells no difference after a push, and leaves out whom the HSS does not hold',
    body: async (fixture) => {
      const [one, absent] = fixture.subscribers
      assert.ok(one !== undefined && absent !== undefined, 'the fixture must give two subscribers')
      if (fixture.driver.compare === undefined) return
      await fixture.driver.upsert([one], patient())
      const seen = await told(fixture, fixture.subscribers)
      assert.equal(seen?.get(one.imsi), { fields: [], isSqnLost: false })
      assert.not.ok(seen?.has(absent.imsi), 'an absent subscriber must be left out')
      await changesNothing(fixture, () => told(fixture, fixture.subscribers))
    },
  },
  {
    sentence: 'tells by a name, not by a value, that an upsert would change something',
    body: async (fixture) => {
      const [one] = fixture.subscribers
      assert.ok(one !== undefined, 'the fixture must give a subscriber')
      if (fixture.driver.compare === undefined) return
      await fixture.driver.upsert([one], patient())
      const changes: Readonly<Record<string, Partial<Subscriber>>> = {
        APNs: { apns: [...one.apns, 'added.example'] },
        AMBR: { ambrBps: { up: 3_000_000, down: 7_000_000 } },
        block: { isBlocked: true },
        ...(fixture.cannot?.includes('keys') === true ? {} : { Ki: { ki: new Uint8Array(16).fill(0x5a) } }),
      }
      for (const [what, change] of Object.entries(changes)) {
        const wanted = { ...one, ...change }
        const difference = (await told(fixture, [wanted]))?.get(one.imsi)
        assert.ok((difference?.fields.length ?? 0) > 0, `another ${what} must be told`)
        assert.is(difference?.isSqnLost, false)
        const names = difference?.fields ?? []
        assert.not.ok(holdsKey(names, one) || holdsKey(names, wanted), 'a name must not hold a key')
      }
      // A SQN that has been counted on is the core's.
      const counted = (await told(fixture, [{ ...one, sqn: one.sqn + 64n }]))?.get(one.imsi)
      assert.equal(counted, { fields: [], isSqnLost: false })
    },
  },
  {
    sentence: 'tells what a subscriber has, so that an import can leave it as it is',
    body: async (fixture) => {
      const { existing } = fixture.driver
      const [one, absent] = fixture.subscribers
      assert.ok(one !== undefined && absent !== undefined, 'the fixture must give two subscribers')
      if (existing === undefined) return
      const more = fixture.cannot?.includes('MSISDN') === true ? {} : { msisdn: '491700000' }
      const ambrBps = { up: 3_000_000, down: 7_000_000 }
      const own: Subscriber = { ...one, ...more, apns: [...one.apns, 'corp.example'], ambrBps }
      await fixture.driver.upsert([own], patient())
      const tell = async (): Promise<SubscriberHeld | undefined> => {
        const all = await existing([one.imsi, absent.imsi], patient())
        assert.not.ok(all.has(absent.imsi), 'an absent subscriber must be left out')
        return all.get(one.imsi)
      }
      const has = await tell()
      assert.equal([has?.apns, has?.ambrBps, has?.isBlocked], [own.apns, own.ambrBps, false])
      assert.is(has?.msisdn, own.msisdn)
      assert.is(has?.sessionAmbrBps.size, 0)
      await changesNothing(fixture, tell)
      await fixture.driver.setBlocked([one.imsi], true, patient())
      const blocked = await tell()
      assert.equal([blocked?.apns, blocked?.ambrBps, blocked?.isBlocked], [own.apns, own.ambrBps, true])
      await honoursAbort(fixture, (signal) => existing([one.imsi], signal), 'existing')
    },
  },
  {
    sentence: 'counts everybody whom the HSS holds, whoever wrote it',
    body: async (fixture) => {
      const { survey } = fixture.driver
      if (survey === undefined) return
      const before = (await survey(patient())).subscribers
      await fixture.driver.upsert(fixture.subscribers, patient())
      const count = async () => (await survey(patient())).subscribers - before
      assert.is(await count(), fixture.subscribers.length)
      await changesNothing(fixture, count)
      await fixture.driver.remove([...fixture.subscribers.map(({ imsi }) => imsi)], patient())
      assert.is(await count(), 0)
      await honoursAbort(fixture, (signal) => survey(signal), 'survey')
    },
  },
  {
    sentence: 'honours an aborted signal when it compares',
    body: async (fixture) => {
      const { driver, subscribers } = fixture
      const { compare } = driver
      if (compare === undefined) return
      await driver.upsert(subscribers, patient())
      await honoursAbort(fixture, (signal) => compare(subscribers, signal), 'compare')
    },
  },
]

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
