import type { Imsi, Subscriber, SubscriberDifference, SubscriberHeld } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { type Check, changesNothing, honoursAbort, patient } from './common.ts'
import type { HssFixture } from './hss.ts'

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
export const COMPARING: readonly Check<HssFixture>[] = [
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
