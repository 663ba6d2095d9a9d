import { assert, suite } from '@steeple/testkit'
import { downloadProfile } from '@steeple/virtual-euicc'
import { callerOf } from '../src/es2/core.ts'
import { ORDERS } from '../src/store/es2-store.ts'
import { contextOf } from './support/bed.ts'
import { type Es2Bed, HOST, type OrderSystem, startEs2 } from './support/es2-bed.ts'
import { eidOf } from './support/pki.ts'

const orders = suite('esim-smdp/es2-orders')
let all: Es2Bed
let bss: OrderSystem

orders.before(async () => {
  all = await startEs2({ profile_types: ['default', 'gold'] })
  bss = all.system('bss-1')
})
orders.after(async () => {
  bss.close()
  await all.stop()
})

/** Room for 128 random bits. */
const OWN_ID = '7KQ2M-XW4RT-0ZB8Y-HJ3VN-C6DPL'
const SECRET_ID = '5F2C9A71-0B6E-48D3-9C17-E4A8B2D06F35'
const AVAILABLE = { finalProfileStatusIndicator: 'Available' }
const withF = (iccid: string): string => iccid.padEnd(20, 'F')
const state = async (iccid: string): Promise<string> => {
  const answer = await all.bed.request('GET', '/v1/esim/codes?limit=500')
  const { codes } = answer.body as { codes: readonly { iccid_last4: string; state: string }[] }
  return codes.find(({ iccid_last4 }) => iccid_last4 === iccid.slice(-4))?.state ?? 'none'
}
const download = async (matchingId: string, number: number, confirmationCode?: string) =>
  await downloadProfile({
    euicc: all.euicc(number),
    activationCode: `LPA:1$${HOST}$${matchingId}${confirmationCode === undefined ? '' : '$$1'}`,
    baseUrl: all.bed.url,
    ...(confirmationCode !== undefined && { confirmationCode }),
  })

orders('takes a SIM by its ICCID through its whole life into a download', async () => {
  const { iccid, hash } = await all.sim()
  const ordered = await bss.call('downloadOrder', { iccid: withF(iccid) })
  assert.equal([ordered.status, ordered.code, ordered.body.iccid], [200, 'ok', withF(iccid)])
  assert.is(await state(iccid), 'allocated')
  const confirmed = await bss.call('confirmOrder', { iccid, matchingId: OWN_ID, releaseFlag: false })
  assert.equal([confirmed.code, confirmed.body], ['ok', { matchingId: OWN_ID, smdpAddress: HOST }])
  assert.is(await state(iccid), 'confirmed')
  await download(OWN_ID, 1).then(
    () => assert.unreachable('it is not released'),
    (error: Error) => assert.match(error.message, /cannot be downloaded|8\.2/),
  )
  assert.is((await bss.call('releaseProfile', { iccid: withF(iccid) })).code, 'ok')
  assert.is((await bss.call('releaseProfile', { iccid: withF(iccid) })).code, '8.2.1/3.5', 'twice')
  const { profile } = await download(OWN_ID, 1)
  assert.is(profile.iccid, iccid)
  assert.is(await state(iccid), 'installed')
  assert.is((await bss.call('cancelOrder', { iccid, ...AVAILABLE })).code, '8.2.1/3.3', 'it is installed')
  const sim = await all.bed.request('GET', `/v1/sims/${hash}`)
  assert.is((sim.body as { state: string }).state, 'issued')
})

orders('issues a SIM of a profile type, draws its matching id, asks for a confirmation code', async () => {
  const ordered = await bss.call('downloadOrder', { profileType: 'gold', eid: eidOf(2) })
  const iccid = ordered.body.iccid ?? ''
  assert.match(iccid, /^\d{18,19}\dF?$/)
  const body = { iccid, eid: eidOf(2), confirmationCode: '4711', releaseFlag: true }
  const confirmed = await bss.call('confirmOrder', body)
  assert.equal([confirmed.code, confirmed.body.eid], ['ok', eidOf(2)])
  const matchingId = confirmed.body.matchingId ?? ''
  assert.match(matchingId, /^[0-9A-Z]{26}$/)
  const refused = (number: number, code: string): Promise<void> =>
    download(matchingId, number, code).then(
      () => assert.unreachable(),
      () => undefined,
    )
  await refused(3, '4711')
  await refused(2, '4712')
  const { profile } = await download(matchingId, 2, '4711')
  assert.is(profile.iccid, iccid.replace(/F$/, ''))
  const { sims } = (await all.bed.request('GET', '/v1/sims?profile=gold')).body as { sims: unknown[] }
  assert.is(sims.length, 1)
})

orders('gives the profile by the EID alone when the matching id is empty', async () => {
  const { iccid } = await all.sim()
  await bss.call('downloadOrder', { iccid })
  const without = await bss.call('confirmOrder', { iccid, matchingId: '', releaseFlag: true })
  assert.is(without.code, '8.1.1/2.2')
  const body = { iccid, matchingId: '', eid: eidOf(4), releaseFlag: true }
  assert.is((await bss.call('confirmOrder', body)).body.matchingId, '')
  const { profile } = await downloadProfile({
    euicc: all.euicc(4),
    activationCode: `LPA:1$${HOST}$`,
    baseUrl: all.bed.url,
  })
  assert.is(profile.iccid, iccid)
})

orders('lets a cancelled SIM be ordered again, with the same matching id, or ends it', async () => {
  const { iccid, hash } = await all.sim()
  const confirm = { iccid, matchingId: `A-${OWN_ID}`, releaseFlag: true }
  for (let round = 0; round < 2; round++) {
    assert.is((await bss.call('downloadOrder', { iccid })).code, 'ok')
    assert.is((await bss.call('confirmOrder', confirm)).code, 'ok')
    const wrong = { iccid, matchingId: `B-${OWN_ID}`, ...AVAILABLE }
    assert.is((await bss.call('cancelOrder', wrong)).code, '8.2.6/3.10')
    assert.is((await bss.call('cancelOrder', { iccid, eid: eidOf(9), ...AVAILABLE })).code, '8.1.1/3.10')
    if (round === 0) assert.is((await bss.call('cancelOrder', { ...confirm, ...AVAILABLE })).code, 'ok')
  }
  const final = { iccid, finalProfileStatusIndicator: 'Unavailable' }
  assert.is((await bss.call('cancelOrder', final)).code, 'ok')
  const sim = await all.bed.request('GET', `/v1/sims/${hash}`)
  assert.is((sim.body as { state: string }).state, 'revoked')
  assert.is((await bss.call('downloadOrder', { iccid })).code, '8.2.1/3.9')
  assert.is((await bss.call('cancelOrder', final)).code, '8.2.1/3.9')
})

orders('refuses with the code of what is wrong', async () => {
  const [{ iccid }, other] = [await all.sim(), await all.sim()]
  const code = async (name: string, body: object): Promise<string> => (await bss.call(name, body)).code
  const UNKNOWN = '8988211000000000001'
  assert.is(await code('downloadOrder', {}), '8.2.1/2.2')
  assert.is(await code('downloadOrder', { iccid: UNKNOWN }), '8.2.1/3.9')
  assert.is(await code('downloadOrder', { iccid: '12' }), '1.3.1/2.1')
  assert.is(await code('downloadOrder', { iccid, eid: '1234' }), '1.3.1/2.1')
  assert.is(await code('downloadOrder', { profileType: 'silver' }), '8.2.5/3.9')
  assert.is(await code('downloadOrder', { iccid, profileType: 'gold' }), '8.2.5/3.8')
  assert.is(await code('confirmOrder', { iccid, releaseFlag: true }), '8.2.1/3.3')
  assert.is(await code('releaseProfile', { iccid }), '8.2.1/3.5')
  assert.is(await code('cancelOrder', { iccid, ...AVAILABLE }), '8.2.1/3.3')
  assert.is(await code('releaseProfile', { iccid: UNKNOWN }), '8.2.1/3.9')
  assert.is(await code('downloadOrder', { iccid, profileType: 'default', eid: eidOf(5) }), 'ok')
  assert.is(await code('downloadOrder', { iccid }), '8.2.1/3.3', 'it is ordered')
  const confirm = { iccid, releaseFlag: true }
  assert.is(await code('confirmOrder', { ...confirm, eid: eidOf(6) }), '8.1.1/3.10')
  assert.is(await code('confirmOrder', { ...confirm, matchingId: 'a_b' }), '8.2.6/2.1')
  assert.is(await code('confirmOrder', { ...confirm, smdsAddress: 'lpa.ds.gsma.com' }), '8.9/5.1')
  assert.is(await code('confirmOrder', { iccid }), '1.3.1/2.1')
  assert.is(await code('cancelOrder', { iccid, finalProfileStatusIndicator: 'Lost' }), '1.3.1/2.1')
  assert.is(await code('confirmOrder', { ...confirm, matchingId: 'TAKEN-1' }), 'ok')
  assert.is(await code('confirmOrder', confirm), '8.2.1/3.3', 'it is confirmed')
  await code('downloadOrder', { iccid: other.iccid })
  const taken = { iccid: other.iccid, releaseFlag: true, matchingId: 'TAKEN-1', eid: eidOf(6) }
  assert.is(await code('confirmOrder', taken), '8.2.6/3.3')
})

orders('takes a matching id of its own that can be guessed only for one EID', async () => {
  const { iccid } = await all.sim()
  await bss.call('downloadOrder', { iccid })
  const confirm = { iccid, releaseFlag: true }
  const WEAK = [
    'ORDER-0001',
    'X7',
    '-'.repeat(40),
    '7KQ2MXW4RT0ZB8YHJ3VNC6DP',
    `7KQ2M-XW4RT-${'-'.repeat(30)}`,
    'A'.repeat(64),
    '0123456789'.repeat(3),
    '5F2C9A710B6E48D39C17E4A8B2D06F3',
  ]
  for (const matchingId of WEAK) {
    const { code, message } = await bss.call('confirmOrder', { ...confirm, matchingId })
    assert.equal([matchingId, code], [matchingId, '8.2.6/2.1'])
    assert.match(message, /128 random bits.+link the order to an EID/)
  }
  const linked = { ...confirm, matchingId: 'ORDER-0001', eid: eidOf(7) }
  assert.is((await bss.call('confirmOrder', linked)).body.matchingId, 'ORDER-0001')
  await download('ORDER-0001', 8).then(
    () => assert.unreachable('it is for another eUICC'),
    (error: Error) => assert.match(error.message, /8\.1\.1/),
  )
  assert.is((await download('ORDER-0001', 7)).profile.iccid, iccid)
  const enough = [
    '7KQ2MXW4RT0ZB8YHJ3VNC6DPL',
    SECRET_ID.replace('5', '4'),
    '012345678901234567890123456789012345678',
  ]
  for (const matchingId of enough) {
    const sim = await all.sim()
    await bss.call('downloadOrder', { iccid: sim.iccid })
    const body = { iccid: sim.iccid, matchingId, releaseFlag: true }
    assert.is((await bss.call('confirmOrder', body)).body.matchingId, matchingId)
  }
})

orders('refuses what is no message of ES2+ in its own form', async () => {
  const codes = async (text: string): Promise<readonly unknown[]> => {
    const { status, code } = await bss.send('downloadOrder', text)
    return [status, code]
  }
  for (const text of ['', '{', '[]', 'null', '"x"', '\u0000', '{"header":'])
    assert.equal(await codes(text), [200, '1.3.1/2.1'], text)
  assert.equal(await codes('{}'), [200, '1.1/2.2'])
  assert.equal(await codes('{"header":{"functionRequesterIdentifier":"1"}}'), [200, '1.6/2.2'])
  const deep = `{"header":{"functionRequesterIdentifier":"1","functionCallIdentifier":"2"},"x":${'['.repeat(7_000)}${']'.repeat(7_000)}}`
  assert.equal(await codes(deep), [200, '1.3.1/2.1'])
  assert.equal(await codes('x'.repeat(20_000)), [200, '1.3.1/2.1'])
  assert.equal(await codes('x'.repeat(70_000)), [413, '-'])
  assert.is((await bss.send('handleNotification', '{}')).status, 404)
})

orders('lets nobody touch the order of another, nor the code of an operator', async () => {
  const other = all.system('bss-2')
  const { iccid } = await all.sim()
  await bss.call('downloadOrder', { iccid })
  assert.is((await other.call('confirmOrder', { iccid, releaseFlag: true })).code, '8.2.1/1.2')
  assert.is((await other.call('cancelOrder', { iccid, ...AVAILABLE })).code, '8.2.1/1.2')
  assert.is((await other.call('downloadOrder', { iccid })).code, '8.2.1/3.3')
  other.close()
  const sim = await all.sim()
  await all.bed.request('POST', '/v1/esim/issue', { body: { imsi_sha256_12: sim.hash } })
  assert.is((await bss.call('cancelOrder', { iccid: sim.iccid, ...AVAILABLE })).code, '8.2.1/1.2')
  assert.is((await bss.call('downloadOrder', { iccid: sim.iccid })).code, '8.2.1/3.3')
  // The same name, by another authority: on connections that begin anew and that go on.
  for (let i = 0; i < 2; i++) {
    const namesake = all.systemOfOther('bss-1')
    for (let j = 0; j < 2; j++)
      assert.is((await namesake.call('confirmOrder', { iccid, releaseFlag: true })).code, '8.2.1/1.2')
    namesake.close()
  }
  // As an earlier version has stored it, which knew the name alone.
  const { formerOwner } = callerOf({ subject: 'O=BSS\nCN=bss-1', sha256: '', authority: '' })
  await contextOf(all.bed).db.write(async (tx) => {
    for (const row of await ORDERS.select(tx, '')) await ORDERS.put(tx, { ...row, owner: formerOwner })
  })
  // The same system with a renewed certificate.
  const renewed = all.system('bss-1')
  assert.is((await renewed.call('confirmOrder', { iccid, releaseFlag: true })).code, 'ok')
  renewed.close()
})

orders('executes a call once, however often and at once it comes', async () => {
  const body = { profileType: 'gold' }
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => bss.call('downloadOrder', body, 'call-1')),
  )
  const iccids = new Set(replies.map((reply) => reply.body.iccid))
  assert.equal([iccids.size, replies.every(({ code }) => code === 'ok')], [1, true])
  const [iccid = ''] = iccids
  const confirm = { iccid, releaseFlag: true }
  const first = await bss.call('confirmOrder', confirm, 'call-2')
  assert.equal((await bss.call('confirmOrder', confirm, 'call-2')).body, first.body, 'with its matching id')
  const turned = { releaseFlag: true, iccid }
  assert.equal((await bss.call('confirmOrder', turned, 'call-2')).body, first.body, 'in another order')
  // Another call, whatever its identifier is.
  assert.is((await bss.call('confirmOrder', { ...confirm, eid: eidOf(8) }, 'call-2')).code, '8.2.1/3.3')
  assert.is((await bss.call('cancelOrder', { iccid, ...AVAILABLE }, 'call-2')).code, 'ok')
  const other = all.system('bss-3')
  assert.is((await other.call('downloadOrder', body, 'call-1')).code, 'ok')
  other.close()
})

orders('audits each under the certificate with the call, and shows no secret', async () => {
  const { iccid, hash } = await all.sim()
  await bss.call('downloadOrder', { iccid }, 'audit-1')
  const confirm = { iccid, matchingId: SECRET_ID, confirmationCode: 'secret-cc', releaseFlag: true }
  await bss.call('confirmOrder', confirm, 'audit-2')
  const trail = await all.bed.audit()
  const entry = trail.find(({ detail }) => detail?.function_call === 'audit-2')
  assert.equal([entry?.action, entry?.target, entry?.outcome], ['esim.confirm', hash, 'ok'])
  assert.is(entry?.detail?.requester, '2.999.99')
  assert.match(JSON.stringify(entry), /CN=bss-1/)
  const told = JSON.stringify([trail, await all.bed.events()])
  for (const secret of [SECRET_ID, 'secret-cc', iccid]) assert.not.ok(told.includes(secret), secret)
})

orders.run()
