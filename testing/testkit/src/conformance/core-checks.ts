import { type CoreDesired, type Imsi, isServiceError, type Rendered } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { eventually } from '../eventually.ts'
import {
  type Check,
  changesNothing,
  changesTheWorld,
  honoursAbort,
  isCount,
  patient,
  rejection,
} from './common.ts'
import type { CoreFixture, CorePhones } from './core.ts'

const SHA256_HEX = /^[0-9a-f]{64}$/
/** What was asked for must have happened, and must show, by then, ms. */
const PATIENCE_MS = 20_000

/** The check with phones; nothing where the rig has none. */
function withPhones(
  body: (fixture: CoreFixture, phones: CorePhones) => Promise<void>,
): (fixture: CoreFixture) => Promise<void> {
  return async (fixture) => {
    if ('none' in fixture.phones) {
      assert.ok(fixture.phones.none.length > 10, 'a rig without phones says why')
      return
    }
    await body(fixture, fixture.phones)
  }
}

/** The settings with one thing changed, by what that is. */
function oneChange(
  desired: CoreDesired,
  anotherApn = 'added.example',
): Readonly<Record<string, CoreDesired>> {
  const { mcc, mnc } = desired.plmn
  return {
    MCC: { ...desired, plmn: { mcc: mcc === '901' ? '902' : '901', mnc } },
    MNC: { ...desired, plmn: { mcc, mnc: mnc === '03' ? '04' : '03' } },
    TAC: { ...desired, tac: desired.tac === 9 ? 10 : 9 },
    APNs: { ...desired, apns: [...desired.apns, anotherApn] },
  }
}

async function holdsFiles(fixture: CoreFixture, { files }: Rendered, why: string): Promise<void> {
  const read = await fixture.configFiles()
  for (const [path, content] of files) assert.is(read.get(path), content, `${path}: ${why}`)
}

async function applied(fixture: CoreFixture, desired: CoreDesired): Promise<Rendered> {
  const rendered = await fixture.driver.render(desired)
  await fixture.driver.apply(rendered, patient())
  return rendered
}

const RENDERING: readonly Check<CoreFixture>[] = [
  {
    sentence: 'renders the same bytes from the same input, and changes nothing',
    body: (fixture) =>
      changesNothing(fixture, async () => {
        const first = await fixture.driver.render(fixture.desired)
        await fixture.driver.render(fixture.otherDesired)
        const again = await fixture.driver.render(structuredClone(fixture.desired))
        assert.equal([...again.files], [...first.files])
        assert.is(again.sha256, first.sha256)
      }),
  },
  {
    sentence: 'renders MCC, MNC, TAC and APNs: each alone gives other bytes and another hash',
    body: async ({ driver, desired, anotherApn }) => {
      const hashes = new Set([(await driver.render(desired)).sha256])
      const texts = new Set([JSON.stringify([...(await driver.render(desired)).files])])
      for (const [what, changed] of Object.entries(oneChange(desired, anotherApn))) {
        const { files, sha256 } = await driver.render(changed)
        assert.not.ok(hashes.has(sha256), `another ${what} must give another hash`)
        const text = JSON.stringify([...files])
        assert.not.ok(texts.has(text), `another ${what} must give other bytes`)
        hashes.add(sha256)
        texts.add(text)
      }
    },
  },
  {
    sentence: 'renders files at relative paths and hashes them with SHA-256',
    body: async ({ driver, desired }) => {
      const { files, sha256 } = await driver.render(desired)
      assert.match(sha256, SHA256_HEX)
      assert.ok(files.size > 0, 'there must be a file')
      for (const path of files.keys()) {
        assert.not.match(path, /^\/|\\|(^|\/)\.\.?(\/|$)/, `${path} must be relative and without dots`)
      }
    },
  },
]

const APPLYING: readonly Check<CoreFixture>[] = [
  {
    sentence: 'writes what it rendered, and observes its hash',
    body: async (fixture) => {
      for (const wanted of [fixture.desired, fixture.otherDesired, fixture.desired]) {
        await changesTheWorld(fixture, 'applying', async () => {
          const rendered = await applied(fixture, wanted)
          await holdsFiles(fixture, rendered, 'the core must read what was rendered')
          assert.is((await fixture.driver.observe(patient())).configSha256, rendered.sha256)
        })
      }
    },
  },
  {
    sentence: 'applies the same configuration twice without a second effect',
    body: async (fixture) => {
      const rendered = await applied(fixture, fixture.desired)
      await changesNothing(fixture, () => fixture.driver.apply(rendered, patient()))
    },
  },
  {
    sentence: 'says what it has written, and nothing of what is in force already',
    body: async (fixture) => {
      const rendered = await fixture.driver.render(fixture.desired)
      const first = await fixture.driver.apply(rendered, patient())
      assert.ok(first.changed.length > 0, 'the first apply must name the files that it has written')
      const again = await fixture.driver.apply(rendered, patient())
      assert.equal([again.changed, again.restarted], [[], []], 'the second apply has nothing to do')
    },
  },
  {
    sentence: 'leaves the last good configuration when applying fails',
    body: async (fixture) => {
      const { driver } = fixture
      const good = await applied(fixture, fixture.desired)
      await fixture.failNextApply()
      const other = await driver.render(fixture.otherDesired)
      await rejection(() => driver.apply(other, patient()), 'apply must reject when the core refuses')
      assert.is((await driver.observe(patient())).configSha256, good.sha256)
      await holdsFiles(fixture, good, 'the last good file must be back')
      // Asked for again, it is tried again: done, or refused as before.
      const isDone = await driver.apply(other, patient()).then(
        () => true,
        () => false,
      )
      await holdsFiles(fixture, isDone ? other : good, 'what is called applied must be what the core reads')
    },
  },
  {
    sentence: 'observes without changing anything',
    body: async (fixture) => {
      await applied(fixture, fixture.desired)
      await changesNothing(fixture, async () => {
        const seen = await fixture.driver.observe(patient())
        for (const [what, count] of Object.entries({ radios: seen.radios, attachedUes: seen.attachedUes })) {
          assert.ok(
            count === undefined || isCount(count),
            `${what} must be a count, or undefined when not known`,
          )
        }
        assert.ok([...seen.services.values()].every((state) => ['up', 'down', 'unknown'].includes(state)))
      })
    },
  },
]

function patienceOf({ patienceMs = PATIENCE_MS }: CoreFixture): number {
  return patienceMs
}

async function registered(fixture: CoreFixture): Promise<readonly Imsi[]> {
  const ues = await fixture.driver.ues(patient())
  return ues.filter(({ isRegistered }) => isRegistered).map(({ imsi }) => imsi)
}

async function counts(fixture: CoreFixture, imsis: readonly Imsi[]): Promise<void> {
  await eventually(async () => {
    assert.equal((await registered(fixture)).toSorted(), imsis.toSorted())
    const { attachedUes } = await fixture.driver.observe(patient())
    assert.ok(attachedUes === undefined || attachedUes === imsis.length, `${attachedUes} phones counted`)
  }, patienceOf(fixture))
}

/** Enough to tell whether the last of a list is there. */
const MANY = 3

const PHONES: readonly Check<CoreFixture>[] = [
  {
    sentence: 'says that an unattached subscriber is not attached, and lists it not',
    body: async (fixture) => {
      assert.is(await fixture.driver.kick(fixture.stranger, patient()), 'not_attached')
      await changesNothing(fixture, async () => {
        assert.not.ok((await registered(fixture)).includes(fixture.stranger))
      })
    },
  },
  {
    sentence: 'lists and counts who is attached, and nobody else',
    body: withPhones(async (fixture, phones) => {
      const before = await registered(fixture)
      const one = await phones.attach()
      await counts(fixture, [...before, one])
      const two = await phones.attach()
      await counts(fixture, [...before, one, two])
    }),
  },
  {
    sentence: 'lists and counts more than one or two',
    body: withPhones(async (fixture, phones) => {
      const all = [...(await registered(fixture))]
      for (let left = phones.many ?? MANY; left > 0; left -= 1) all.push(await phones.attach())
      await counts(fixture, all)
    }),
  },
  {
    sentence: 'lists the APNs of who is attached',
    body: withPhones(async (fixture, phones) => {
      const one = await phones.attach()
      await eventually(async () => {
        const found = (await fixture.driver.ues(patient())).find(({ imsi }) => imsi === one)
        assert.equal([...(found?.apns ?? [])].toSorted(), [...phones.apns].toSorted())
      }, patienceOf(fixture))
    }),
  },
  {
    sentence: 'does not say yes of one who stays, whatever the core says',
    body: withPhones(async (fixture, phones) => {
      if (phones.stay === undefined) return
      const one = await phones.attach()
      await eventually(async () => (await registered(fixture)).includes(one), patienceOf(fixture))
      await phones.stay(one)
      const said = await fixture.driver.kick(one, patient()).catch(() => 'an error')
      assert.is(await phones.isAttached(one), true, 'the fixture must keep a phone that is to stay')
      assert.ok(said === 'pending' || said === 'an error', `it said ${said} of a phone that has stayed`)
    }),
  },
  {
    sentence: 'disconnects two that it is told to at once',
    body: withPhones(async (fixture, phones) => {
      const both = [await phones.attach(), await phones.attach()]
      await eventually(async () => {
        const seen = await registered(fixture)
        return both.every((imsi) => seen.includes(imsi))
      }, patienceOf(fixture))
      await Promise.all(both.map((imsi) => fixture.driver.kick(imsi, patient())))
      for (const imsi of both)
        await eventually(async () => !(await phones.isAttached(imsi)), patienceOf(fixture))
    }),
  },
  {
    sentence: 'disconnects whom it kicks and nobody else, and says yes only of who is gone',
    body: withPhones(async (fixture, phones) => {
      const [one, other] = [await phones.attach(), await phones.attach()]
      await eventually(async () => (await registered(fixture)).includes(one), patienceOf(fixture))
      const said = await fixture.driver.kick(one, patient())
      assert.ok(said === 'yes' || said === 'pending', `an attached phone was kicked, and it said ${said}`)
      if (said === 'yes') assert.is(await phones.isAttached(one), false, 'it said yes of one who is attached')
      await eventually(async () => !(await phones.isAttached(one)), patienceOf(fixture))
      assert.is(await phones.isAttached(other), true, 'another one was disconnected')
      await eventually(async () => !(await registered(fixture)).includes(one), patienceOf(fixture))
    }),
  },
  {
    sentence: 'does not call nobody what it cannot know of a silent core',
    body: withPhones(async (fixture, phones) => {
      const one = await phones.attach()
      await phones.fallSilent()
      const error = await rejection(
        () => fixture.driver.ues(patient()),
        'ues must reject when the core does not tell',
      )
      assert.ok(isServiceError(error), 'the failure must carry a code of the catalogue')
      assert.is(error.code, 'southbound_unavailable')
      const seen = await fixture.driver.observe(patient())
      assert.is(seen.attachedUes, undefined)
      assert.ok(seen.radios !== 0, 'base stations that it cannot see are not none')
      assert.not.ok(String(Object(error).message).includes(one), 'the text of an error must not hold an IMSI')
      const said = await fixture.driver.kick(one, patient()).catch(() => 'an error')
      assert.ok(said === 'pending' || said === 'an error', `it said ${said} of a phone that it cannot see`)
    }),
  },
]

const LEAVING: readonly Check<CoreFixture>[] = [
  {
    sentence: 'honours an aborted signal',
    body: async (fixture) => {
      const rendered = await fixture.driver.render(fixture.desired)
      await honoursAbort(fixture, (signal) => fixture.driver.observe(signal), 'observe')
      await honoursAbort(fixture, (signal) => fixture.driver.ues(signal), 'ues')
      await honoursAbort(fixture, (signal) => fixture.driver.apply(rendered, signal), 'apply')
      await honoursAbort(fixture, (signal) => fixture.driver.kick(fixture.stranger, signal), 'kick')
    },
  },
]

/** What every core driver must do. Each mutant fails at least one. */
export const CORE_CHECKS: readonly Check<CoreFixture>[] = [...RENDERING, ...APPLYING, ...PHONES, ...LEAVING]
