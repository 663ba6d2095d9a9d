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
import { HELD } from '../src/store/rows.ts'
import { pki } from './support/pki.ts'
import { ADDRESS, iccidOf, type World, world } from './support/world.ts'

const download = suite('esim-smdp/download')

async function held(all: World, token: string) {
  return (await HELD.select(all.fake.context.db, 'where token = :token', { token }))[0]
}

async function fails(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it went well',
    (error: Error) => error.message,
  )
}

for (const curve of ['P-256', 'brainpoolP256r1'] as const)
  download(`delivers a profile that the eUICC installs, on ${curve}`, async () => {
    const all = await world(curve === 'P-256' ? {} : { pki: pki(curve) })
    const code = await all.issue(1)
    const euicc = all.euicc(7)
    const got = await downloadProfile({
      euicc,
      activationCode: code.activationCode,
      transport: all.transport,
    })
    assert.is(got.profile.imsi, '999700000000001')
    const row = await all.row(code)
    assert.equal([row.state, row.downloads, row.eid_last4], ['installed', 1, '0007'])
    assert.is((await held(all, code.token))?.state, 'installed')
    assert.equal(
      all.fake.observed.map(({ type }) => type),
      ['esim.downloaded', 'esim.installed'],
    )
    await all.close()
  })

download('knows what becomes of the profile on the phone', async () => {
  const all = await world()
  const code = await all.issue(1)
  const euicc = all.euicc(7)
  const { transport } = all
  await downloadProfile({ euicc, activationCode: code.activationCode, transport })
  const client = es9Client(`https://${ADDRESS}`, transport)
  const iccid = swapped(iccidOctets(iccidOf(1)))
  for (const [act, state] of [
    [enableOn, 'enabled'],
    [disableOn, 'disabled'],
    [deleteOn, 'deleted'],
  ] as const) {
    assert.is(act(euicc, iccid), 0)
    await deliverNotifications(euicc, client, ADDRESS)
    assert.is((await held(all, code.token))?.state, state)
  }
  // For one time: it is used up although it was deleted.
  assert.is((await all.row(code)).state, 'installed')
  assert.match(
    await fails(downloadProfile({ euicc, activationCode: code.activationCode, transport })),
    '8.2/1.2',
  )
  await all.close()
})

download('goes on with the certificates that a session began with', async () => {
  const all = await world()
  const code = await all.issue(1)
  for (const step of ['authenticateClient', 'getBoundProfilePackage']) {
    const { transport } = all
    // Others are imported while the phone is at it.
    const renewing: typeof transport = async (url, headers, body) => {
      if (url.endsWith(step)) all.identities.splice(0, 1, all.pki.renewed())
      return await transport(url, headers, body)
    }
    const { token, activationCode } = step === 'authenticateClient' ? code : await all.issue(2)
    await downloadProfile({ euicc: all.euicc(7), activationCode, transport: renewing })
    assert.is((await all.row({ token })).state, 'installed')
  }
  await all.close()
})

download('gives a profile that was deleted to the same device again, and to no other', async () => {
  const all = await world({ config: { single_use: false } })
  const code = await all.issue(1)
  const euicc = all.euicc(7)
  const { transport } = all
  const { activationCode } = code
  await downloadProfile({ euicc, activationCode, transport })
  deleteOn(euicc, swapped(iccidOctets(iccidOf(1))))
  await deliverNotifications(euicc, es9Client(`https://${ADDRESS}`, transport), ADDRESS)
  assert.match(await fails(downloadProfile({ euicc: all.euicc(8), activationCode, transport })), '8.1.1/3.8')
  await downloadProfile({ euicc, activationCode, transport })
  assert.equal([(await all.row(code)).state, (await all.row(code)).downloads], ['installed', 2])
  await all.close()
})

download('asks for the confirmation code, and ends the order after the third wrong one', async () => {
  const all = await world()
  const code = await all.issue(1, { confirmation: '1234' })
  const euicc = all.euicc(7)
  const options = { euicc, activationCode: `${code.activationCode}$$1`, transport: all.transport }
  assert.match(await fails(downloadProfile({ ...options, confirmationCode: '0000' })), '8.2.7/3.8')
  // The phone cancels after each failure: the order lives on.
  assert.is((await all.row(code)).state, 'released')
  await downloadProfile({ ...options, confirmationCode: '1234' })
  const other = await all.issue(2, { confirmation: '1234' })
  const next = { ...options, euicc: all.euicc(9), activationCode: `${other.activationCode}$$1` }
  for (const expected of ['8.2.7/3.8', '8.2.7/3.8', '8.2.7/6.4', '8.8.5/6.4'])
    assert.match(await fails(downloadProfile({ ...next, confirmationCode: '0000' })), expected)
  assert.is((await all.row(other)).state, 'error')
  await all.clock.advance(60_000)
  assert.match(await fails(downloadProfile({ ...next, confirmationCode: '1234' })), '8.2/1.2')
  await all.close()
})

download('delivers what is suspended, and nothing of a SIM that is revoked', async () => {
  const all = await world()
  const { transport } = all
  const [one, two] = [await all.issue(1), await all.issue(2)]
  all.states.set(one.hash, 'suspended')
  all.states.set(two.hash, 'revoked')
  await downloadProfile({ euicc: all.euicc(7), activationCode: one.activationCode, transport })
  const euicc = all.euicc(8)
  assert.match(
    await fails(downloadProfile({ euicc, activationCode: two.activationCode, transport })),
    '8.2.6/3.8',
  )
  await all.close()
})

download('never puts one SIM on two devices, by whatever code', async () => {
  const all = await world()
  const { transport } = all
  const one = await all.issue(1)
  const two = await all.issue(1, { row: { token: 'token-again' } })
  await downloadProfile({ euicc: all.euicc(7), activationCode: one.activationCode, transport })
  const other = downloadProfile({ euicc: all.euicc(8), activationCode: two.activationCode, transport })
  assert.match(await fails(other), '8.1.1/3.8')
  await all.close()
})

download('lets the order live when its user postpones, and ends it when they refuse', async () => {
  const all = await world()
  const { transport } = all
  for (const [number, reason, state] of [
    [1, 1, 'released'],
    [2, 2, 'released'],
    [3, 0, 'error'],
    [4, 3, 'error'],
  ] as const) {
    const code = await all.issue(number)
    const consent = () => reason as never
    const { activationCode } = code
    await fails(downloadProfile({ euicc: all.euicc(number), activationCode, transport, consent }))
    assert.is((await all.row(code)).state, state)
  }
  await all.close()
})

download('takes an order without a matching id by its EID', async () => {
  const all = await world()
  const { createHash } = await import('node:crypto')
  const { eidOf } = await import('./support/pki.ts')
  const eid_hash = createHash('sha256').update(eidOf(7)).digest('hex')
  const code = await all.issue(1, { row: { eid_hash, eid_last4: '0007' } })
  const activationCode = `LPA:1$${ADDRESS}$`
  await downloadProfile({ euicc: all.euicc(7), activationCode, transport: all.transport })
  assert.is((await all.row(code)).state, 'installed')
  await all.close()
})

download.run()
