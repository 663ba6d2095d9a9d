import { readOne, tlv } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { createEuicc } from '@steeple/virtual-euicc'
import { SESSIONS } from '../src/store/rows.ts'
import { authenticated, base64, type Fields, good, handset, octetsIn } from './support/handset.ts'
import { eidOf, pki } from './support/pki.ts'
import { ADDRESS, codeOf, type World, world } from './support/world.ts'

const refusals = suite('esim-smdp/refusals')

async function scene(body: (all: World) => Promise<void>): Promise<void> {
  await using all = await world()
  await body(all)
}
const codeAt = async (all: World, name: string, body: unknown): Promise<string> =>
  (await all.call(name, body)).code

refusals('takes its address in whatever case, and no other', () =>
  scene(async (all) => {
    const request = handset(all.euicc(7), ADDRESS).initiate()
    for (const [smdpAddress, code] of [
      [ADDRESS.toUpperCase(), 'ok'],
      [`${ADDRESS}:443`, 'ok'],
      [`${ADDRESS}:8443`, '8.8.1/3.8'],
      ['smdp.example.org', '8.8.1/3.8'],
      ['', '8.8.1/3.8'],
    ] as const)
      assert.is(await codeAt(all, 'initiateAuthentication', { ...request, smdpAddress }), code, smdpAddress)
  }),
)

refusals('chooses the CI that the eUICC likes best of those that it can check', () =>
  scene(async (all) => {
    const other = pki('brainpoolP256r1')
    all.identities.push(other.identity)
    const eid = eidOf(7)
    const chains = [other.chain(eid), all.pki.chain(eid)]
    const phone = handset(createEuicc({ eid, chains }), ADDRESS)
    const code = await all.issue(1)
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    const pkid = Buffer.from(octetsIn(first, 'euiccCiPKIdToBeUsed')).toString('hex')
    assert.is(pkid, `0414${other.identity.ciPkid}`)
    await good(all, 'authenticateClient', phone.authenticate(first, code.matchingId))
    const unknown = pki('P-256')
    const stranger = handset(createEuicc({ eid, chains: [unknown.chain(eid)] }), ADDRESS)
    assert.is(await codeAt(all, 'initiateAuthentication', stranger.initiate()), '8.8.4/3.7')
    const info = (signing: string) =>
      base64(
        tlv(
          0xbf20,
          tlv(0x82, Uint8Array.of(2, 2, 0)),
          tlv(0xa9, tlv(0x04, Buffer.from(all.pki.identity.ciPkid, 'hex'))),
          tlv(0xaa, tlv(0x04, Buffer.from(signing, 'hex'))),
        ),
      )
    const asked = { ...phone.initiate(), euiccInfo1: info(unknown.identity.ciPkid) }
    assert.is(await codeAt(all, 'initiateAuthentication', asked), '8.8.2/3.1')
  }),
)

refusals('passes over what a later version adds, and refuses an earlier one', () =>
  scene(async (all) => {
    const phone = handset(all.euicc(7), ADDRESS)
    const request = phone.initiate()
    const members = readOne(octetsIn(request, 'euiccInfo1')).children()
    const lists = members.filter(({ tag }) => tag !== 0x82).map(({ raw }) => raw)
    const svn = (first: number) => tlv(0x82, Uint8Array.of(first, 2, 0))
    const infos = [
      [
        tlv(0xbf20, svn(3), ...lists, tlv(0xb1, tlv(0x04, new Uint8Array(20))), tlv(0x88, new Uint8Array(2))),
        'ok',
      ],
      [tlv(0xbf20, svn(1), ...lists), '8.8.3/3.1'],
      [tlv(0xbf20, svn(2), svn(2), ...lists), '8.8.3/3.1'],
      [tlv(0xbf20, ...lists), '8.8.3/3.1'],
    ] as const
    for (const [info, code] of infos)
      assert.is(await codeAt(all, 'initiateAuthentication', { ...request, euiccInfo1: base64(info) }), code)
  }),
)

refusals('answers what is no request with the code of what it lacks, and never by the edge', () =>
  scene(async (all) => {
    const whole = { transactionId: '00'.repeat(16) }
    const bodies: readonly [string, unknown, string][] = [
      ['initiateAuthentication', Buffer.from('{'), '8.8.1/3.8'],
      ['initiateAuthentication', Buffer.from('[]'), '8.8.1/3.8'],
      ['initiateAuthentication', Buffer.from('null'), '8.8.1/3.8'],
      // JSON is UTF-8, without a BOM before it.
      ['initiateAuthentication', Buffer.from(`\ufeff{"smdpAddress":"${ADDRESS}"}`), '8.8.1/3.8'],
      [
        'initiateAuthentication',
        Buffer.from(`{"smdpAddress":"${ADDRESS}","a":"\xff"}`, 'latin1'),
        '8.8.1/3.8',
      ],
      ['initiateAuthentication', { smdpAddress: 7 }, '8.8.1/3.8'],
      ['initiateAuthentication', { smdpAddress: ADDRESS }, '8.1/6.1'],
      ['initiateAuthentication', { smdpAddress: ADDRESS, euiccChallenge: '!' }, '8.1/6.1'],
      ['initiateAuthentication', { smdpAddress: ADDRESS, euiccChallenge: 'AAAA' }, '8.1/6.1'],
      ['authenticateClient', Buffer.alloc(70_000, 0x20), '8.10.1/3.9'],
      ['authenticateClient', {}, '8.10.1/3.9'],
      ['authenticateClient', whole, '8.10.1/3.9'],
      ['getBoundProfilePackage', whole, '8.10.1/3.9'],
      ['cancelSession', whole, '8.10.1/3.9'],
      ['cancelSession', { __proto__: whole }, '8.10.1/3.9'],
      ['handleNotification', Buffer.from('garbage'), '-'],
      ['handleNotification', { pendingNotification: 'AAAA' }, '-'],
    ]
    for (const [name, body, code] of bodies) {
      const answer = await all.call(name, body)
      assert.equal([answer.status, answer.code], [code === '-' ? 204 : 200, code], name)
    }
  }),
)

refusals('goes forward only: each step once, in either case of its transaction id', () =>
  scene(async (all) => {
    const phone = handset(all.euicc(7), ADDRESS)
    const { matchingId } = await all.issue(1)
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    const request = phone.authenticate(first, matchingId)
    assert.is(await codeAt(all, 'getBoundProfilePackage', request), '8.10.1/3.9')
    const lower = { ...request, transactionId: (request.transactionId ?? '').toLowerCase() }
    const answer = await good(all, 'authenticateClient', lower)
    assert.is(await codeAt(all, 'authenticateClient', request), '8.10.1/3.9')
    const prepared = phone.prepare(answer)
    const bound = await good(all, 'getBoundProfilePackage', prepared)
    assert.is(await codeAt(all, 'getBoundProfilePackage', prepared), '8.10.1/3.9')
    assert.is(phone.install(bound).length > 0, true)
  }),
)

refusals('lets one of two calls of a step win', () =>
  scene(async (all) => {
    const phone = handset(all.euicc(7), ADDRESS)
    const code = await all.issue(1)
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    const request = phone.authenticate(first, code.matchingId)
    const both = await Promise.all([1, 2, 3].map(() => all.call('authenticateClient', request)))
    assert.equal(both.map(({ code: each }) => each).sort(), ['8.10.1/3.9', '8.10.1/3.9', 'ok'])
    assert.is((await all.row(code)).attempts, 1)
    const answer = both.find(({ code: each }) => each === 'ok')?.body as Fields
    const prepared = phone.prepare(answer)
    const bound = await Promise.all([1, 2, 3].map(() => all.call('getBoundProfilePackage', prepared)))
    assert.equal(bound.map(({ code: each }) => each).sort(), ['8.10.1/3.9', '8.10.1/3.9', 'ok'])
    assert.is((await all.row(code)).downloads, 1)
  }),
)

refusals('forgets a session that nobody has called for its life', () =>
  scene(async (all) => {
    const phone = handset(all.euicc(7), ADDRESS)
    const code = await all.issue(1)
    const { answer } = await authenticated(all, phone, code.matchingId)
    await all.clock.advance(14 * 60_000)
    const again = handset(all.euicc(7), ADDRESS)
    const late = await good(all, 'initiateAuthentication', again.initiate())
    await all.clock.advance(15 * 60_000)
    assert.is(await codeAt(all, 'getBoundProfilePackage', phone.prepare(answer)), '8.10.1/3.9')
    assert.is(
      await codeAt(all, 'authenticateClient', again.authenticate(late, code.matchingId)),
      '8.10.1/3.9',
    )
    all.es9.start()
    await all.clock.advance(120_000)
    assert.equal(await SESSIONS.select(all.fake.context.db, ''), [])
  }),
)

refusals('checks the certificates before it believes anything', () =>
  scene(async (all) => {
    const { matchingId } = await all.issue(1)
    const eid = eidOf(7)
    const past = { notAfterMs: Date.UTC(2026, 0, 1) }
    const attempt = async (chain: ReturnType<typeof all.pki.chain>, change = (body: Fields) => body) => {
      const phone = handset(createEuicc({ eid, chains: [chain] }), ADDRESS)
      const first = await good(all, 'initiateAuthentication', phone.initiate())
      return await codeAt(all, 'authenticateClient', change(phone.authenticate(first, matchingId)))
    }
    assert.is(await attempt(all.pki.chain(eid, past)), '8.1.3/6.3')
    const stranger = pki('P-256')
    const replaced = (place: number, der: Uint8Array) => (body: Fields) => {
      const parts = readOne(octetsIn(body, 'authenticateServerResponse')).children()[0]?.children() ?? []
      const raws = parts.map(({ raw }, at) => (at === place ? der : raw))
      return { ...body, authenticateServerResponse: base64(tlv(0xbf38, tlv(0xa0, ...raws))) }
    }
    const own = all.pki.chain(eid)
    const theirs = stranger.chain(eid)
    assert.is(await attempt(own, replaced(3, theirs.eumDer)), '8.11.1/3.9')
    assert.is(await attempt(own, replaced(2, theirs.euiccDer)), '8.1.3/6.1')
    assert.is(await attempt(own, replaced(3, own.euiccDer)), '8.11.1/3.9')
    // Another eUICC of the same EUM: its certificate is good, and the signature is not its.
    assert.is(await attempt(own, replaced(2, all.pki.chain(eidOf(8)).euiccDer)), '8.1/6.1')
    assert.is(await attempt(own), 'ok')
  }),
)

refusals('refuses a code that is unknown, expired, revoked or not released by its own code', () =>
  scene(async (all) => {
    const of = async (number: number, state: string, more: object = {}) =>
      (await all.issue(number, { row: { state: state as never, ...more } })).matchingId
    const codes = [
      ['NO-SUCH-CODE', '8.2.6/3.8'],
      [await of(1, 'revoked'), '8.2.6/3.8'],
      [await of(2, 'allocated'), '8.2/1.2'],
      [await of(3, 'installed'), '8.2/1.2'],
      [await of(4, 'error'), '8.2/1.2'],
      [await of(5, 'expired'), '8.8.5/4.1'],
      [await of(6, 'released', { expires_at_ms: all.clock.nowMs() }), '8.8.5/4.1'],
      [await of(7, 'released', { attempts: 10 }), '8.8.5/6.4'],
      [await of(8, 'released', { eid_hash: 'of another' }), '8.1.1/3.8'],
    ] as const
    for (const [number, [matchingId, code]] of codes.entries()) {
      const phone = handset(all.euicc(100 + number), ADDRESS)
      const first = await good(all, 'initiateAuthentication', phone.initiate())
      assert.is(
        await codeAt(all, 'authenticateClient', phone.authenticate(first, matchingId)),
        code,
        matchingId,
      )
      // It is over: only its cancellation is taken, and changes nothing.
      const cancelled = await all.call('cancelSession', phone.cancel(first, 0))
      assert.is(cancelled.code, 'ok', JSON.stringify(cancelled.body))
    }
    assert.is(all.refusals('matching_id'), 2)
  }),
)

refusals('lets an eUICC that fails too often wait, and forgets it after a download', () =>
  scene(async (all) => {
    const code = await all.issue(1)
    const attempt = async (number: number, matchingId: string) => {
      const phone = handset(all.euicc(number), ADDRESS)
      const first = await good(all, 'initiateAuthentication', phone.initiate())
      const { code: answer } = await all.call('authenticateClient', phone.authenticate(first, matchingId))
      return answer
    }
    const guesses = [1, 2, 3].map((each) => `GUESS-${each}`)
    for (const guess of guesses) assert.is(await attempt(7, guess), '8.2.6/3.8')
    assert.is(await attempt(7, code.matchingId), '8.8.5/6.4')
    assert.is(all.refusals('locked'), 1)
    assert.ok(all.fake.observed.some(({ type }) => type === 'esim.locked'))
    // Another one is not kept waiting, nor is the code.
    assert.is(await attempt(8, code.matchingId), 'ok')
    await all.clock.advance(2_001)
    assert.is(await attempt(7, 'GUESS-4'), '8.2.6/3.8')
    await all.clock.advance(2_001)
    assert.is(await attempt(7, code.matchingId), '8.8.5/6.4')
    await all.clock.advance(2_001)
    assert.is(await attempt(7, code.matchingId), 'ok')
  }),
)

refusals('keeps a lock that a clock far ahead has set no longer than any other', () =>
  scene(async (all) => {
    const code = await all.issue(1)
    const attempt = async (matchingId: string) => {
      const phone = handset(all.euicc(7), ADDRESS)
      const first = await good(all, 'initiateAuthentication', phone.initiate())
      return (await all.call('authenticateClient', phone.authenticate(first, matchingId))).code
    }
    const startMs = all.clock.nowMs()
    all.clock.jump(startMs + 365 * 86_400_000)
    for (const guess of ['A', 'B', 'C']) assert.is(await attempt(guess), '8.2.6/3.8')
    assert.is(await attempt('D'), '8.8.5/6.4')
    all.clock.jump(startMs)
    assert.is(await attempt(code.matchingId), 'ok')
  }),
)

refusals('tells once when codes are guessed, whoever does it', () =>
  scene(async (all) => {
    for (let number = 0; number < 25; number += 1) {
      const phone = handset(all.euicc(number), ADDRESS)
      const first = await good(all, 'initiateAuthentication', phone.initiate())
      await all.call('authenticateClient', phone.authenticate(first, `GUESS-${number}`))
    }
    assert.equal(
      all.fake.observed.map(({ type }) => type),
      ['esim.guessed'],
    )
  }),
)

refusals('forgets sessions that it has refused when they become many', () =>
  scene(async (all) => {
    const { db } = all.fake.context
    const phone = handset(all.euicc(7), ADDRESS)
    await authenticated(all, phone, (await all.issue(1)).matchingId)
    const [one] = await SESSIONS.select(db, '')
    const row = one && { ...one, token: null }
    if (row === undefined) throw new Error('there is a session')
    await db.write(async (tx) => {
      for (let at = 0; at < 1_500; at += 1)
        await SESSIONS.put(tx, { ...row, tid: `T${at}`, step: 'ended', created_at_ms: at })
    })
    all.es9.start()
    await all.clock.advance(61_000)
    const kept = await SESSIONS.select(db, "where step = 'ended' order by created_at_ms")
    assert.equal([kept.length, kept[0]?.tid], [1_000, 'T500'])
  }),
)

refusals('admits so many calls of one network, and tells the rest to come again', () =>
  scene(async (all) => {
    const statuses = new Map<number, number>()
    for (let at = 0; at < 500; at += 1) {
      const { status } = await all.call('cancelSession', {}, '192.0.2.1')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    assert.equal(
      [...statuses],
      [
        [200, 400],
        [429, 100],
      ],
    )
    assert.is((await all.call('cancelSession', {}, '192.0.2.2')).status, 200)
    await all.clock.advance(1_000)
    assert.is((await all.call('cancelSession', {}, '192.0.2.1')).status, 200)
    // Whoever goes on calling takes from the others of the network no more than its calls that are admitted.
    let admitted = 0
    for (let at = 0; at < 400; at += 1) {
      await all.clock.advance(25)
      if ((await all.call('cancelSession', {}, '192.0.2.1')).status === 200) admitted += 1
    }
    assert.ok(admitted >= 200, `${admitted} of 400 in ten seconds`)
  }),
)

refusals('refuses a cancellation for another SM-DP+, and one of another eUICC', () =>
  scene(async (all) => {
    const code = await all.issue(1)
    const phone = handset(all.euicc(7), ADDRESS)
    const { answer } = await authenticated(all, phone, code.matchingId)
    const body = phone.cancel(answer, 0)
    const [identity] = all.identities
    if (identity === undefined) throw new Error('there is an identity')
    all.identities[0] = { ...identity, ownerOctets: Uint8Array.of(0x88, 0x37, 0x0b) }
    assert.is(await codeAt(all, 'cancelSession', body), '8.8/3.10')
    all.identities[0] = identity
    const signed = octetsIn(body, 'cancelSessionResponse')
    signed[signed.length - 1] = (signed.at(-1) ?? 0) ^ 1
    assert.is(
      await codeAt(all, 'cancelSession', { ...body, cancelSessionResponse: base64(signed) }),
      '8.1/6.1',
    )
    assert.is((await all.row(code)).state, 'released')
    assert.is(await codeAt(all, 'cancelSession', body), 'ok')
    assert.is((await all.row(code)).state, 'error')
    assert.is(await codeAt(all, 'cancelSession', body), 'ok')
  }),
)

refusals('says nothing that it should not', () =>
  scene(async (all) => {
    const { matchingId } = await all.issue(1, { confirmation: '4711' })
    const phone = handset(all.euicc(7), ADDRESS)
    const { answer } = await authenticated(all, phone, matchingId)
    await all.call('getBoundProfilePackage', phone.prepare(answer, '4712'))
    const said = JSON.stringify([all.fake.logs, all.fake.observed, all.fake.metrics.names])
    for (const secret of [matchingId, '4711', '4712', eidOf(7), '999700000000001'])
      assert.not.ok(said.includes(secret), secret)
    assert.ok(codeOf(answer) === 'ok')
  }),
)

refusals.run()
