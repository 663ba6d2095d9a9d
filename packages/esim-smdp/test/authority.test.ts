import { iccidOctets, swapped } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import { createEuicc, deleteOn } from '@steeple/virtual-euicc'
import { authorityOf, onlyAuthority } from '../src/certs/authority.ts'
import { boundEid } from '../src/store/adopt-store.ts'
import { euiccId } from '../src/store/euicc-store.ts'
import { CODES, EUICCS, HELD, NOTICES, SESSIONS } from '../src/store/rows.ts'
import { authenticated, good, type Handset, handset } from './support/handset.ts'
import { eidOf, pki } from './support/pki.ts'
import { ADDRESS, iccidOf, type World, world } from './support/world.ts'

const authority = suite('esim-smdp/authority')
const PUBLISHED = 'f54172bdf98a95d65cbeb88a38a1c11d800a85c3'
const SEVEN = eidOf(7)

/** An SM-DP+ with a set of its own, and one under another CI whose key somebody else has. */
async function withTwo(
  foreign: string,
  body: (all: World, forged: (number: number) => Handset) => Promise<void>,
): Promise<void> {
  const all = await world()
  const other = pki('P-256')
  all.identities.push({ ...other.identity, authority: foreign })
  try {
    await body(all, (number) =>
      handset(createEuicc({ eid: eidOf(number), chains: [other.chain(eidOf(number))] }), ADDRESS),
    )
  } finally {
    await all.close()
  }
}

async function installed(all: World, phone: Handset, matchingId: string | undefined): Promise<void> {
  const { answer } = await authenticated(all, phone, matchingId)
  const [result] = phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
  assert.is((await all.call('handleNotification', result)).status, 204)
}
async function refusal(all: World, phone: Handset, matchingId: string | undefined): Promise<string> {
  const first = await good(all, 'initiateAuthentication', phone.initiate())
  return (await all.call('authenticateClient', phone.authenticate(first, matchingId))).code
}

for (const foreign of ['test', 'ab'.repeat(20)])
  authority(
    `gives an order for an EID to the eUICC of its CI alone, beside one of ${foreign.slice(0, 4)}`,
    () =>
      withTwo(foreign, async (all, forged) => {
        const bound = await boundEid(all.parts, SEVEN, all.pki.identity.ciPkid)
        assert.ok(typeof bound === 'object')
        const { matchingId } = await all.issue(1, {
          row: { eid_hash: bound.hash, eid_last4: SEVEN.slice(-4) },
        })
        for (const asked of [undefined, matchingId])
          assert.match(await refusal(all, forged(7), asked), /^8\.(2\.6|1\.1)\/3\.8$/)
        await installed(all, handset(all.euicc(7), ADDRESS), undefined)
        assert.match(await refusal(all, forged(7), matchingId), /^8\./)
      }),
  )

authority('believes no deletion that another CI than that of the delivery stands behind', () =>
  withTwo('test', async (all, forged) => {
    const code = await all.issue(1)
    const phone = handset(all.euicc(7), ADDRESS)
    await installed(all, phone, code.matchingId)
    const thief = forged(7)
    const own = await all.issue(2)
    await installed(all, thief, own.matchingId)
    const iccid = swapped(iccidOctets(iccidOf(1)))
    const states = async () =>
      (await HELD.select(all.fake.context.db, 'order by token')).map(({ state }) => state)
    // What it holds itself it may delete: with the number of another one it is unknown.
    deleteOn(thief.euicc, swapped(iccidOctets(iccidOf(2))))
    await all.call('handleNotification', thief.notifications().at(-1))
    assert.equal(await states(), ['installed', 'deleted'])
    deleteOn(phone.euicc, iccid)
    const real = phone.notifications().at(-1)
    await all.call('handleNotification', real)
    assert.equal(await states(), ['deleted', 'deleted'])
    assert.is((await EUICCS.select(all.fake.context.db, '')).length, 2)
  }),
)

authority('locks out nobody who has the same EID by another CI', () =>
  withTwo('test', async (all, forged) => {
    for (let i = 0; i < 4; i++) await refusal(all, forged(7), 'NO-SUCH-CODE')
    assert.is(await refusal(all, forged(7), 'NO-SUCH-CODE'), '8.8.5/6.4')
    const { matchingId } = await all.issue(1)
    await installed(all, handset(all.euicc(7), ADDRESS), matchingId)
  }),
)

authority('asks for the CI of an EID where several could stand behind it', async () => {
  await using all = await world()
  const named = await boundEid(all.parts, SEVEN)
  assert.equal(named, { eid: SEVEN, authority: 'own', hash: euiccId('own', SEVEN) })
  all.identities.push({ ...pki('P-256').identity, authority: 'test' })
  assert.equal(await boundEid(all.parts, SEVEN), named, 'a published one is nobody')
  const other = pki('P-256').identity
  all.identities.push({ ...other, authority: other.ciPkid })
  assert.is(await boundEid(all.parts, SEVEN), 'ci_needed')
  assert.is(await boundEid(all.parts, SEVEN, '00'.repeat(20)), 'ci_unknown')
  assert.equal(await boundEid(all.parts, SEVEN, other.ciPkid.toUpperCase()), {
    eid: SEVEN,
    authority: other.ciPkid,
    hash: euiccId(other.ciPkid, SEVEN),
  })
})

/** All that is stored of eUICC 7, as an earlier version had it, who knew it by its EID alone. */
async function asBefore(all: World, ci: string): Promise<void> {
  const { db } = all.fake.context
  const [was, plain] = [euiccId(ci, SEVEN), euiccId('own', SEVEN)]
  await db.write(async (tx) => {
    for (const row of await EUICCS.select(tx, '')) {
      await EUICCS.remove(tx, { eid_hash: row.eid_hash })
      const eid_sealed = all.parts.vault.seal(Buffer.from(SEVEN), `esim_smdp_euicc/${plain}`)
      await EUICCS.put(tx, { ...row, eid_hash: plain, eid_sealed, authority: null })
    }
    for (const row of await CODES.select(tx, '')) await CODES.put(tx, { ...row, eid_hash: plain })
    for (const row of await SESSIONS.select(tx, '')) await SESSIONS.put(tx, { ...row, eid_hash: plain })
    for (const [table, rows] of [
      [HELD, await HELD.select(tx, '')],
      [NOTICES, await NOTICES.select(tx, '')],
    ] as const)
      for (const row of rows) {
        assert.is(row.eid_hash, was)
        await tx.run(`delete from ${table.name} where eid_hash = :was`, { was })
        await (table as typeof HELD).put(tx, { ...row, eid_hash: plain } as never)
      }
  })
}

authority(
  'finds what an earlier version has stored of an eUICC by its EID alone, and gives it to no other',
  async () => {
    const mine = 'cd'.repeat(20)
    for (const isAlone of [true, false]) {
      await using all = await world({ config: { single_use: false } })
      const [identity] = all.identities
      assert.ok(identity)
      all.identities[0] = { ...identity, authority: mine }
      const code = await all.issue(1)
      const phone = handset(all.euicc(7), ADDRESS)
      await installed(all, phone, code.matchingId)
      await asBefore(all, mine)
      if (!isAlone) {
        const other = pki('P-256')
        all.identities.push({ ...other.identity, authority: 'test' })
        const forged = createEuicc({ eid: SEVEN, chains: [other.chain(SEVEN)] })
        assert.match(
          await refusal(all, handset(forged, ADDRESS), code.matchingId),
          /^8\.2\.6\/3\.8|8\.2\/1\.2|8\.1\.1\/3\.8/,
        )
        assert.is((await all.row(code)).eid_hash, euiccId('own', SEVEN))
      }
      deleteOn(phone.euicc, swapped(iccidOctets(iccidOf(1))))
      await all.call('handleNotification', phone.notifications().at(-1))
      const [held] = await HELD.select(all.fake.context.db, '')
      assert.equal([held?.state, held?.eid_hash], ['deleted', euiccId(mine, SEVEN)])
      await installed(all, phone, code.matchingId)
    }
  },
)

authority('knows the CIs whose keys are published, and takes the key here for an own one', () => {
  assert.is(authorityOf(PUBLISHED, true), 'test')
  assert.is(authorityOf(PUBLISHED.toUpperCase(), false), 'test')
  assert.equal([authorityOf('00', true), authorityOf('00', false)], ['own', '00'])
  const of = (...all: string[]) => onlyAuthority(all.map((one) => ({ authority: one })))
  assert.equal(
    [of(), of('test'), of('own', 'test'), of('own', '00'), of('own', 'own')],
    [undefined, 'test', 'own', undefined, 'own'],
  )
})

authority.run()
