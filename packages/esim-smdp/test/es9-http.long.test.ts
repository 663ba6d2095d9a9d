import { assert, bodyOf, suite, type Testbed } from '@steeple/testkit'
import { createEuicc, deleteOn, disableOn, downloadProfile, enableOn } from '@steeple/virtual-euicc'
import { readTemplate } from '../src/profile/template-in-force.ts'
import { codesDue } from '../src/store/code-queries.ts'
import { pruneEuiccs, putNotice } from '../src/store/euicc-store.ts'
import { countSessions, pruneSessions } from '../src/store/session-store.ts'
import { type CodeBody, contextOf, type Issued, standIns, startBed } from './support/bed.ts'
import { eidOf, type Pki, pki } from './support/pki.ts'

const http = suite('esim-smdp/es9-http')
const PATH = '/gsma/rsp2/es9plus'
let bed: Testbed
let hierarchy: Pki

http.before(async () => {
  hierarchy = pki('P-256')
  const template = readTemplate('')
  const certs = {
    ...standIns().certs,
    identities: () => [hierarchy.identity],
    identity: () => hierarchy.identity,
    identitiesHeld: () => [hierarchy.identity],
  }
  bed = await startBed({ single_use: false }, {}, { certs, template: () => template })
})
http.after(() => bed.stop())

const euiccOf = (number: number) =>
  createEuicc({ eid: eidOf(number), chains: [hierarchy.chain(eidOf(number))] })
const issue = async (body: object = {}): Promise<Issued> =>
  bodyOf(await bed.request('POST', '/v1/esim/issue', { body }), 201)
const post = (path: string, body: string | object, headers: Record<string, string> = {}) =>
  bed.request('POST', path, {
    token: false,
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

http('delivers a SIM of this box over HTTP, with the keys that its HSS has', async () => {
  const code = await issue({ label: 'ann' })
  const euicc = euiccOf(1)
  const { profile } = await downloadProfile({ euicc, activationCode: code.activation_code, baseUrl: bed.url })
  const { createHash } = await import('node:crypto')
  const hash = createHash('sha256').update(profile.imsi).digest('hex').slice(0, 12)
  assert.is(hash, code.imsi_sha256_12)
  const path = `/v1/esim/codes/${code.token}`
  const record = bodyOf<CodeBody>(await bed.request('GET', path))
  assert.equal([record.state, record.downloads, record.eid_last4], ['installed', 1, '0001'])
})

http('shows what each eUICC holds, page by page, and no EID', async () => {
  const code = await issue()
  const euicc = euiccOf(2)
  await downloadProfile({ euicc, activationCode: code.activation_code, baseUrl: bed.url })
  const [profile] = euicc.profiles()
  const digits = profile?.iccid ?? ''
  const iccid = Buffer.from(digits.padEnd(20, 'f').replaceAll(/(.)(.)/g, '$2$1'), 'hex')
  for (const act of [enableOn, disableOn, deleteOn]) assert.is(act(euicc, iccid), 0)
  const { deliverNotifications, es9Client, fetchTransport } = await import('@steeple/virtual-euicc')
  await deliverNotifications(euicc, es9Client(bed.url, fetchTransport), 'smdp.example.org')
  interface List {
    readonly euiccs: readonly {
      readonly eid_last4: string
      readonly profiles: readonly { readonly token: string; readonly state: string }[]
    }[]
    readonly next_cursor: string | null
  }
  const one = bodyOf<List>(await bed.request('GET', '/v1/esim/euiccs?limit=1'))
  const rest = bodyOf<List>(await bed.request('GET', `/v1/esim/euiccs?limit=1&cursor=${one.next_cursor}`))
  assert.is(rest.next_cursor, null)
  const all = [...one.euiccs, ...rest.euiccs]
  const mine = all.find(({ eid_last4 }) => eid_last4 === '0002')
  assert.equal(
    mine?.profiles.map(({ token, state }) => [token, state]),
    [[code.token, 'deleted']],
  )
  assert.not.ok(JSON.stringify(all).includes(eidOf(2)))
  const events = (await bed.events()).filter(({ subject }) => subject === code.token)
  assert.equal(
    events.map(({ type }) => type).filter((type) => type !== 'esim.issue'),
    ['esim.downloaded', 'esim.installed', 'esim.enabled', 'esim.disabled', 'esim.deleted'],
  )
})

http('serves both paths with the headers of SGP.22, and speaks its form alone', async () => {
  for (const prefix of [PATH, '/es9plus']) {
    const answer = await post(`${prefix}/cancelSession`, '{"transactionId":')
    assert.is(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.match(answer.headers.get('x-admin-protocol') ?? '', /^gsma\/rsp\/v2\./)
    assert.equal(answer.body, {
      header: {
        functionExecutionStatus: {
          status: 'Failed',
          statusCodeData: {
            subjectCode: '8.10.1',
            reasonCode: '3.9',
            message: 'There is no such session, or it is over; begin again.',
          },
        },
      },
    })
  }
  const notice = await post(`${PATH}/handleNotification`, { pendingNotification: 'AAAA' })
  assert.equal([notice.status, notice.body], [204, undefined])
  // No body at all is no request of the protocol either.
  assert.is((await post(`${PATH}/authenticateClient`, '')).status, 200)
})

http('leaves what is no request of it to the edge', async () => {
  const path = `${PATH}/initiateAuthentication`
  assert.is((await post(path, 'x', { 'content-type': 'text/plain' })).status, 415)
  assert.is((await post(path, 'x'.repeat(1_100_000))).status, 413)
  assert.is((await bed.request('GET', path)).status, 405)
  assert.is((await post(`${PATH}/somethingElse`, '{}')).status, 404)
})

http('forgets by statements that the real store takes', async () => {
  const { db, clock } = contextOf(bed)
  const nowMs = Math.floor(clock.nowMs())
  await db.write(async (tx) => {
    assert.type(await pruneSessions(tx, nowMs, 100), 'number')
    await pruneEuiccs(tx, nowMs, 100)
    const row = { eid_hash: 'none', seq: 1, event: 'enable', token: null, detail: null } as const
    assert.is(await putNotice(tx, { ...row, received_at_ms: nowMs }), true)
    assert.is(await putNotice(tx, { ...row, received_at_ms: nowMs }), false)
  })
  assert.equal(await codesDue(db, 0, 10), [])
  assert.ok(((await countSessions(db)).get('ended') ?? 0) > 0)
})

http('delivers to fifty phones at once', async () => {
  const codes = await Promise.all(Array.from({ length: 50 }, () => issue()))
  const got = await Promise.all(
    codes.map(async ({ activation_code }, number) => {
      const euicc = euiccOf(100 + number)
      return (await downloadProfile({ euicc, activationCode: activation_code, baseUrl: bed.url })).profile
        .imsi
    }),
  )
  assert.is(new Set(got).size, 50)
})

http.run()
