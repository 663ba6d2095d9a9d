import { type Imsi, isServiceError, type Subscriber } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { type Check, patient, rejection } from './common.ts'
import type { HssFixture } from './hss.ts'

/** More than fit on a usual page of an API. */
const MANY = 60
/** Counted to the last bit that an AuC has: TS 33.102 §6.3.2 gives a SQN 48 bits. */
const LARGE_SQN = 2n ** 43n + 32n
/** More than 32 bits hold: 5G sells such rates. */
const LARGE_AMBR = { up: 5_000_000_000, down: 20_000_000_000 }
/** Whole kbit/s and no whole Mbit/s. */
const ODD_AMBR = { up: 1_234_000, down: 56_789_000 }

function first({ subscribers }: HssFixture): Subscriber {
  const [one] = subscribers
  assert.ok(one !== undefined, 'the fixture must give two subscribers')
  return one
}

/** The first subscriber of the fixture under other identities, each with keys of its own. */
function crowd(fixture: HssFixture): readonly Subscriber[] {
  const one = first(fixture)
  return Array.from({ length: fixture.many ?? MANY }, (_, at) => ({
    ...one,
    imsi: `${one.imsi.slice(0, 8)}${String(5_000_000 + at)}` as Imsi,
    ki: one.ki.map((octet) => octet ^ (at + 1)),
    opc: one.opc.map((octet) => octet ^ (at + 1)),
  }))
}

async function worked(
  fixture: HssFixture,
  call: 'upsert' | 'remove' | 'block',
  some: readonly Subscriber[],
): Promise<void> {
  const { driver } = fixture
  const imsis = some.map(({ imsi }) => imsi)
  const result =
    call === 'upsert'
      ? await driver.upsert(some, patient())
      : call === 'remove'
        ? await driver.remove(imsis, patient())
        : await driver.setBlocked(imsis, true, patient())
  for (const imsi of imsis) {
    assert.ok(result.has(imsi), `${call}: every subscriber must have a result`)
    assert.is(result.get(imsi), undefined, `${call} must work`)
  }
}

async function blockedOf(
  fixture: HssFixture,
  some: readonly Subscriber[],
): Promise<readonly (boolean | undefined)[]> {
  const seen = await fixture.driver.observe(
    some.map(({ imsi }) => imsi),
    patient(),
  )
  return some.map(({ imsi }) => seen.get(imsi)?.isBlocked)
}

async function holdsKeysOf(fixture: HssFixture, { imsi, ki, opc }: Subscriber): Promise<void> {
  const stored = await fixture.stored(imsi)
  assert.ok(stored !== undefined, 'the HSS must hold the subscriber')
  assert.ok(
    Buffer.from(ki).equals(stored.ki) && Buffer.from(opc).equals(stored.opc),
    'its keys must be its own',
  )
}

/** What a person or a log may see of an error: no identity, no key, in no spelling. */
function tellsNothingOf(error: unknown, { imsi, ki, opc }: Subscriber): void {
  const text =
    error instanceof Error ? `${error.message} ${String(error.stack)}`.toLowerCase() : String(error)
  assert.not.ok(text.includes(imsi), 'the text of an error must not hold an IMSI')
  for (const key of [ki, opc])
    for (const spelling of ['hex', 'base64', 'base64url'] as const)
      assert.not.ok(
        text.includes(Buffer.from(key).toString(spelling).toLowerCase()),
        'the text of an error must not hold a key',
      )
}

/** What goes wrong with more than two, with two at once, at the ends of ranges, and when nothing answers. */
export const HARD: readonly Check<HssFixture>[] = [
  {
    sentence: 'pushes, observes, blocks and removes more than fit on a page',
    body: async (fixture) => {
      const all = crowd(fixture)
      await worked(fixture, 'upsert', all)
      assert.equal(
        await blockedOf(fixture, all),
        all.map(() => false),
      )
      for (const one of [all.at(0), all.at(-1)]) if (one !== undefined) await holdsKeysOf(fixture, one)
      await worked(fixture, 'block', all)
      assert.equal(
        await blockedOf(fixture, all),
        all.map(() => true),
      )
      await worked(fixture, 'remove', all)
      assert.equal(
        await blockedOf(fixture, all),
        all.map(() => undefined),
      )
      for (const { imsi } of all.slice(-1)) assert.is(await fixture.stored(imsi), undefined)
    },
  },
  {
    sentence: 'loses nothing of two calls at once',
    body: async (fixture) => {
      const [one, two, three, four] = crowd({ ...fixture, many: 4 })
      assert.ok(one !== undefined && two !== undefined && three !== undefined && four !== undefined)
      await worked(fixture, 'upsert', [three, four])
      await Promise.all([
        worked(fixture, 'upsert', [one]),
        worked(fixture, 'upsert', [two]),
        worked(fixture, 'block', [three]),
        worked(fixture, 'remove', [four]),
      ])
      assert.equal(await blockedOf(fixture, [one, two, three, four]), [false, false, true, undefined])
      for (const each of [one, two, three]) await holdsKeysOf(fixture, each)
    },
  },
  {
    sentence: 'inserts a sequence number of all its 48 bits',
    body: async (fixture) => {
      const one = { ...first(fixture), sqn: LARGE_SQN }
      await worked(fixture, 'upsert', [one])
      assert.is((await fixture.stored(one.imsi))?.sqn, LARGE_SQN)
    },
  },
  {
    sentence: 'takes one that it removed anew, with the sequence number that it is given then',
    body: async (fixture) => {
      const one = first(fixture)
      await worked(fixture, 'upsert', [one])
      await worked(fixture, 'remove', [one])
      const later = { ...one, sqn: one.sqn + 1_024n }
      await worked(fixture, 'upsert', [later])
      assert.is((await fixture.stored(one.imsi))?.sqn, later.sqn)
      assert.equal(await blockedOf(fixture, [one]), [false])
    },
  },
  {
    sentence: 'keeps the bit/s of an AMBR that is no whole number of Mbit/s',
    body: (fixture) => keepsAmbr(fixture, ODD_AMBR),
  },
  {
    sentence: 'keeps an AMBR that 32 bits do not hold',
    body: (fixture) => keepsAmbr(fixture, LARGE_AMBR),
  },
  {
    sentence: 'takes an IMSI that begins with zeros',
    body: async (fixture) => {
      const one = { ...first(fixture), imsi: '001010000000001' as Imsi }
      await worked(fixture, 'upsert', [one])
      await holdsKeysOf(fixture, one)
      assert.equal(await blockedOf(fixture, [one]), [false])
      await worked(fixture, 'remove', [one])
      assert.is(await fixture.stored(one.imsi), undefined)
    },
  },
  {
    sentence: 'names nobody in an error',
    body: async (fixture) => {
      const one = first(fixture)
      const result = await fixture.driver.setBlocked([one.imsi], true, patient())
      tellsNothingOf(result.get(one.imsi), one)
    },
  },
  {
    sentence: 'does not call done, or absent, what it cannot know of a silent HSS',
    body: async (fixture) => {
      if (fixture.fallSilent === undefined) return
      const one = first(fixture)
      await worked(fixture, 'upsert', [one])
      await fixture.fallSilent()
      const unseen = await rejection(
        () => fixture.driver.observe([one.imsi], patient()),
        'observe must reject when the HSS does not tell: nothing is not nobody',
      )
      assert.ok(isServiceError(unseen), 'the failure must carry a code of the catalogue')
      assert.is(unseen.code, 'southbound_unavailable')
      tellsNothingOf(unseen, one)
      for (const call of ['upsert', 'block', 'remove'] as const) {
        const error = await rejection(
          () => worked(fixture, call, [one]),
          `${call} must not be called done while the HSS does not answer`,
        )
        tellsNothingOf(error, one)
      }
    },
  },
]

async function keepsAmbr(fixture: HssFixture, ambrBps: Subscriber['ambrBps']): Promise<void> {
  const one = { ...first(fixture), ambrBps }
  await worked(fixture, 'upsert', [one])
  assert.equal((await fixture.driver.observe([one.imsi], patient())).get(one.imsi)?.ambrBps, ambrBps)
  const stored = await fixture.stored(one.imsi)
  if (stored?.ambrBps !== undefined)
    assert.equal(stored.ambrBps, ambrBps, 'the HSS holds another rate than the driver shows')
}
