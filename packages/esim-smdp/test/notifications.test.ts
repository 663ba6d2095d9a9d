import { createPublicKey, sign } from 'node:crypto'
import { readOne, tlv } from '@steeple/sgp22'
import { iccidOctets, swapped } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import {
  deleteOn,
  deliverNotifications,
  disableOn,
  downloadProfile,
  enableOn,
  es9Client,
} from '@steeple/virtual-euicc'
import { EUICCS, HELD, NOTICES } from '../src/store/rows.ts'
import {
  authenticated,
  base64,
  type Fields,
  good,
  type Handset,
  handset,
  octetsIn,
} from './support/handset.ts'
import { installNotice } from './support/install-notice.ts'
import { eidOf } from './support/pki.ts'
import { ADDRESS, iccidOf, type TestCode, type World, world } from './support/world.ts'

const notifications = suite('esim-smdp/notifications')
const DAY_MS = 86_400_000

interface Scene {
  readonly all: World
  readonly code: TestCode
  readonly phone: Handset
  readonly tid: string
  /** The result of the installation, and the notification of it. */
  readonly result: Fields
  readonly other: Fields
}

/** A profile that was delivered and installed; the phone has not told of it. */
async function scene(config: object, body: (of: Scene) => Promise<void>): Promise<void> {
  await using all = await world({ config })
  const code = await all.issue(1)
  const phone = handset(all.euicc(7), ADDRESS)
  const { answer } = await authenticated(all, phone, code.matchingId)
  const waiting = phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
  const kindOf = (fields: Fields) => readOne(octetsIn(fields, 'pendingNotification')).tag
  const result = waiting.find((one) => kindOf(one) === 0xbf37)
  assert.is(waiting.length, 1, 'its result, and nothing that says the same again')
  if (result === undefined) throw new Error('it tells of its installation')
  const other = installNotice(all, 7, result)
  await body({ all, code, phone, tid: answer.transactionId ?? '', result, other })
}

const counted = (all: World, result: string): number =>
  all.fake.metrics.value('svc_esim_smdp_notifications_total', { result }) ?? 0
const tell = async (all: World, body: unknown): Promise<void> =>
  assert.is((await all.call('handleNotification', body)).status, 204)
const heldState = async (all: World, token: string) =>
  (
    await HELD.find(all.fake.context.db, {
      eid_hash: (await all.row({ token })).eid_hash,
      token,
    })
  )?.state

notifications('takes the result of an installation weeks later, once', () =>
  scene({}, async ({ all, code, result, other }) => {
    await all.clock.advance(80 * DAY_MS)
    await tell(all, result)
    await tell(all, result)
    await tell(all, other)
    await tell(all, other)
    assert.equal([counted(all, 'counted'), counted(all, 'repeated')], [2, 2])
    assert.is((await all.row(code)).state, 'installed')
    const [euicc] = await EUICCS.select(all.fake.context.db, '')
    assert.is(euicc?.last_seen_ms, all.clock.nowMs())
    const rows = await NOTICES.select(all.fake.context.db, 'order by seq')
    assert.equal(
      rows.map(({ event }) => event),
      ['install', 'install'],
    )
    assert.is(all.fake.observed.filter(({ type }) => type === 'esim.installed').length, 1)
  }),
)

notifications('believes the newest, in whatever order they come', () =>
  scene({ single_use: false }, async ({ all, code, phone, result }) => {
    const iccid = swapped(iccidOctets(iccidOf(1)))
    enableOn(phone.euicc, iccid)
    const enabled = phone.notifications().at(-1)
    disableOn(phone.euicc, iccid)
    assert.is(deleteOn(phone.euicc, iccid), 0)
    const deleted = phone.notifications().at(-1)
    await tell(all, deleted)
    assert.equal([await heldState(all, code.token), (await all.row(code)).state], ['deleted', 'released'])
    await tell(all, enabled)
    await tell(all, result)
    assert.equal([await heldState(all, code.token), (await all.row(code)).state], ['deleted', 'released'])
    const held = await HELD.select(all.fake.context.db, '')
    assert.ok(held[0]?.installed_at_ms !== null && held[0]?.enabled_at_ms !== null)
  }),
)

/** A result as the eUICC of the scene would sign it; an empty ICCID is left out. */
function signedResult(all: World, tid: string, seq: number, final: Uint8Array, iccid = iccidOf(1)): Fields {
  const data = tlv(
    0xbf27,
    tlv(0x80, Buffer.from(tid, 'hex')),
    tlv(
      0xbf2f,
      tlv(0x80, Uint8Array.of(seq)),
      tlv(0x81, Uint8Array.of(0x07, 0x80)),
      tlv(0x0c, Buffer.from(ADDRESS)),
      ...(iccid === '' ? [] : [tlv(0x5a, swapped(iccidOctets(iccid)))]),
    ),
    tlv(0x06, Buffer.from('8837', 'hex')),
    tlv(0xa2, final),
  )
  const { euiccKey } = all.chain(7)
  assert.is(createPublicKey(euiccKey).asymmetricKeyType, 'ec')
  const signature = sign('sha256', data, { key: euiccKey, dsaEncoding: 'ieee-p1363' })
  return { pendingNotification: base64(tlv(0xbf37, data, tlv(0x5f37, signature))) }
}
const failure = (reason: number) => tlv(0xa1, tlv(0x80, Uint8Array.of(5)), tlv(0x81, Uint8Array.of(reason)))

notifications('lets a phone without room try again, and ends the order where it cannot succeed', () =>
  scene({}, async ({ all, code, tid }) => {
    await tell(all, signedResult(all, tid, 40, failure(10)))
    assert.equal([(await all.row(code)).state, await heldState(all, code.token)], ['downloaded', 'failed'])
    const phone = handset(all.euicc(7), ADDRESS)
    const { answer } = await authenticated(all, phone, code.matchingId)
    await good(all, 'getBoundProfilePackage', phone.prepare(answer))
    await tell(all, signedResult(all, answer.transactionId ?? '', 41, failure(12)))
    const row = await all.row(code)
    assert.equal([row.state, row.last_error], ['error', 'the device could not install it: reason 12'])
    assert.is((await NOTICES.select(all.fake.context.db, 'where seq = 41'))[0]?.detail, 'step 5, reason 12')
  }),
)

notifications('knows by its session what failed before the eUICC had read the ICCID', () =>
  scene({}, async ({ all, code, tid }) => {
    await tell(all, signedResult(all, tid, 40, failure(2), ''))
    assert.equal([(await all.row(code)).state, await heldState(all, code.token)], ['error', 'failed'])
    assert.is(counted(all, 'unknown_profile'), 0)
  }),
)

notifications('takes a second download that says "is there already" for what it is', () =>
  scene({}, async ({ all, code }) => {
    // The phone could not tell of the first one, and its user has tried again.
    const phone = handset(all.euicc(7), ADDRESS)
    const { answer } = await authenticated(all, phone, code.matchingId)
    await good(all, 'getBoundProfilePackage', phone.prepare(answer))
    await tell(all, signedResult(all, answer.transactionId ?? '', 40, failure(9)))
    assert.is((await all.row(code)).state, 'installed')
  }),
)

notifications('passes over what is not its own: other eUICCs, unknown profiles, unknown sessions', () =>
  scene({}, async ({ all, code, tid, other }) => {
    const before = JSON.stringify(await all.row(code))
    const success = tlv(0xa0, tlv(0x4f, new Uint8Array(16)), tlv(0x04, new Uint8Array(2)))
    const others = signedResult(all, tid, 50, success, iccidOf(2))
    const unknown = signedResult(all, 'AB'.repeat(16), 51, success)
    // The notification of the phone, with the certificates of another one.
    const parts = readOne(octetsIn(other, 'pendingNotification')).children()
    const foreign = all.pki.chain(eidOf(8))
    const moved = tlv(0x30, ...parts.slice(0, 2).map(({ raw }) => raw), foreign.euiccDer, foreign.eumDer)
    // One that is good in itself, of an eUICC that was never given this profile.
    const metadata = parts[0]?.raw ?? new Uint8Array()
    const signature = sign('sha256', metadata, { key: foreign.euiccKey, dsaEncoding: 'ieee-p1363' })
    const claimed = tlv(0x30, metadata, tlv(0x5f37, signature), foreign.euiccDer, foreign.eumDer)
    for (const body of [
      others,
      unknown,
      { pendingNotification: base64(moved) },
      { pendingNotification: base64(claimed) },
    ])
      await tell(all, body)
    await tell(all, { pendingNotification: 'MA==' })
    assert.equal(
      ['unknown_profile', 'not_verified', 'unreadable', 'counted'].map((result) => counted(all, result)),
      [2, 2, 1, 0],
    )
    assert.is(JSON.stringify(await all.row(code)), before)
    assert.is(await heldState(all, code.token), 'delivered')
  }),
)

notifications('has the phone keep a notification that could not be stored', () =>
  scene({}, async ({ all, code, result }) => {
    const { observe } = all.fake.context
    const broken = all.fake.context as { observe: typeof observe }
    broken.observe = async () => {
      throw new Error('the store is away')
    }
    const answer = await all.call('handleNotification', result)
    assert.is(answer.status, 429)
    broken.observe = observe
    await tell(all, result)
    assert.is((await all.row(code)).state, 'installed')
  }),
)

notifications('believes an eUICC that was reset and counts from the beginning', async () => {
  const all = await world({ config: { single_use: false } })
  const code = await all.issue(1)
  const { activationCode } = code
  const { transport } = all
  const euicc = all.euicc(7)
  await downloadProfile({ euicc, activationCode, transport })
  assert.is(deleteOn(euicc, swapped(iccidOctets(iccidOf(1)))), 0)
  await deliverNotifications(euicc, es9Client(`https://${ADDRESS}`, transport), ADDRESS)
  assert.is((await all.row(code)).state, 'released')
  // The same EID with an empty memory: its numbers are those of before.
  await downloadProfile({ euicc: all.euicc(7), activationCode, transport })
  assert.is((await all.row(code)).state, 'installed')
  await all.close()
})

notifications.run()
