import type { SimIssuer } from '@steeple/contracts'
import { simIssuerRef } from '@steeple/contracts'
import { assert, bodyOf, eventually, suite, type Testbed, type TestResponse } from '@steeple/testkit'
import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { contextOf, errorOf, startBed } from './support/bed.ts'
import { type FakeProvider, startProvider } from './support/es2-provider.ts'

interface Code {
  readonly token: string
  readonly imsi_sha256_12: string
  readonly state: string
  readonly provider: string | null
  readonly provider_cancel: string | null
  readonly last_error: string | null
  readonly eid_last4: string | null
  readonly profile: { readonly state: string } | null
}
interface Batch {
  readonly id: string
  readonly hashes: readonly string[]
  readonly iccids: readonly string[]
}
interface Report {
  readonly imported: number
  readonly replaced: number
  readonly unchanged: number
  readonly failed: number
  readonly rows: readonly {
    readonly line: number
    readonly status: string
    readonly error: string | null
    readonly token: string | null
  }[]
}
interface Ordered {
  readonly ordered: number
  readonly failed: readonly { readonly reason: string }[]
  readonly remaining: number
}

const http = suite('esim-smdp/providers-http')
let bed: Testbed
let provider: FakeProvider
let keys: { readonly publicKey: string; readonly privateKey: string }

http.before(
  async () => {
    // The own SM-DP+ is off: whoever has a provider needs none.
    bed = await startBed({ enabled: false })
    provider = await startProvider()
    const made = await generateKey({
      userIDs: [{ name: 'Provider' }],
      type: 'rsa',
      rsaBits: 2048,
      date: new Date(0),
      format: 'armored',
    })
    keys = { publicKey: made.publicKey, privateKey: made.privateKey }
    await put('harbour', {
      url: provider.url,
      requester: '1.2.3.4',
      profile_type: 'std, "5G"',
      order_key: keys.publicKey,
    })
  },
  { limitMs: 360_000 },
)
http.after(async () => {
  await bed.stop()
  await provider.stop()
})

const put = (id: string, body: object): Promise<TestResponse> =>
  bed.request('PUT', `/v1/esim/providers/${id}`, { body })
const post = (path: string, body: object): Promise<TestResponse> =>
  bed.request('POST', `/v1/esim/providers/${path}`, { body })
const order = async (body: object): Promise<Ordered> => bodyOf<Ordered>(await post('harbour/order', body))
const codesOf = async (batch: Batch): Promise<readonly Code[]> =>
  bodyOf<{ readonly codes: readonly Code[] }>(await bed.request('GET', `/v1/esim/codes?batch_id=${batch.id}`))
    .codes
const codeOf = async (hash: string): Promise<Code | undefined> =>
  bodyOf<{ readonly codes: readonly Code[] }>(await bed.request('GET', `/v1/esim/codes?imsi=${hash}`))
    .codes[0]
async function send(csv: string, query = ''): Promise<TestResponse> {
  return await bed.request('POST', `/v1/esim/providers/harbour/codes${query}`, {
    body: Buffer.from(csv),
    headers: { 'content-type': 'text/csv' },
  })
}
const report = async (csv: string, query = ''): Promise<Report> => bodyOf<Report>(await send(csv, query))

async function batchOf(count: number): Promise<Batch> {
  const { batch_id: id } = bodyOf<{ readonly batch_id: string }>(
    await bed.request('POST', '/v1/sims', { body: { count, label: 'yard' } }),
    201,
  )
  const issuer: SimIssuer = contextOf(bed).use(simIssuerRef)
  const cards = await issuer.batch(id, '', 100)
  const iccids: string[] = []
  for (const { imsi } of cards) {
    const opened = await issuer.credentials(imsi)
    iccids.push(Buffer.from(opened.iccid).toString('latin1'))
    opened.wipe()
  }
  return { id, hashes: cards.map(({ imsi }) => imsi), iccids }
}

http('encrypts an order file that the provider alone reads, and waits for its codes', async () => {
  const batch = await batchOf(3)
  const made = bodyOf<{ readonly order: string; readonly sims: number; readonly file: string }>(
    await post('harbour/order-file', { batch_id: batch.id }),
  )
  assert.equal([made.sims, made.file.endsWith('.csv.asc')], [3, true])
  const { data } = await decrypt({
    message: await readMessage({ armoredMessage: made.order }),
    decryptionKeys: await readPrivateKey({ armoredKey: keys.privateKey }),
  })
  const [header, ...lines] = String(data).trimEnd().split(/\r?\n/)
  assert.is(header, 'ICCID,IMSI,K,OPC,PIN1,PUK1,PIN2,PUK2,ADM1,PROFILE')
  assert.equal(
    lines.map((line) => line.split(',')[0]),
    batch.iccids,
  )
  assert.ok(
    lines.every((line) =>
      /^[0-9]{19,20},[0-9]{15},[0-9a-f]{32},[0-9a-f]{32},([0-9]{4,8},){5}"std, ""5G"""$/.test(line),
    ),
  )
  const waiting = await codesOf(batch)
  assert.ok(waiting.every(({ state, provider: of }) => state === 'allocated' && of === 'harbour'))
  // Again: the same SIMs, and no second row.
  assert.is(
    bodyOf<{ readonly sims: number }>(await post('harbour/order-file', { batch_id: batch.id })).sims,
    3,
  )
  assert.is((await codesOf(batch)).length, 3)
  const { message } = errorOf(await bed.request('GET', `/v1/esim/codes/${waiting[0]?.token}/qr`), 409)
  assert.match(message, /has not come from the provider harbour yet/)
})

http('takes codes that come back, each to its SIM, and refuses bad rows alone', async () => {
  const batch = await batchOf(3)
  await post('harbour/order-file', { batch_id: batch.id })
  const [a = '', b = '', c = ''] = batch.iccids
  const file = [
    'ICCID,Activation Code,Confirmation Code',
    `${a},LPA:1$rsp.provider.example$TAKEN-A,`,
    `${b}F,LPA:1$rsp.provider.example$TAKEN-B,4711`,
    `${c},LPA:1$rsp.provider.example$TAKEN-A,`,
    `${a},LPA:1$rsp.provider.example$TAKEN-D,`,
    '8988211000000999999,LPA:1$rsp.provider.example$TAKEN-E,',
    '8.98E+18,LPA:1$rsp.provider.example$TAKEN-F,',
  ].join('\n')
  const dry = await report(file, '?dry_run=true')
  assert.equal([dry.imported, dry.failed], [2, 4])
  assert.ok((await codesOf(batch)).every(({ state }) => state === 'allocated'))
  const taken = await report(file)
  assert.equal([taken.imported, taken.unchanged, taken.failed, taken.rows.length], [2, 0, 4, 6])
  assert.equal(
    taken.rows.filter(({ status }) => status === 'error').map(({ line }) => line),
    [4, 5, 6, 7],
  )
  assert.match(taken.rows[2]?.error ?? '', /another SIM has this code/)
  assert.match(taken.rows[3]?.error ?? '', /line 2 has this ICCID/)
  assert.match(taken.rows[4]?.error ?? '', /no SIM with this ICCID/)
  assert.ok(!JSON.stringify(taken).includes('TAKEN'))
  const again = await report(file)
  assert.equal([again.imported, again.unchanged], [0, 2])
  // One row of a SIM waits on, and says so.
  assert.equal((await codesOf(batch)).map(({ state }) => state).toSorted(), [
    'allocated',
    'released',
    'released',
  ])
  const token = taken.rows[1]?.token
  const qr = bodyOf<Record<string, string>>(
    await bed.request('GET', `/v1/esim/codes/${token}/qr`, { headers: { accept: 'application/json' } }),
  )
  assert.equal([qr.activation_code, qr.confirmation_code], ['LPA:1$rsp.provider.example$TAKEN-B$$1', '4711'])
  const list = await bed.request('GET', `/v1/esim/mdm-list?batch_id=${batch.id}`)
  const lines = String(list.body).trimEnd().split('\r\n')
  assert.is(lines[0], 'ICCID,ActivationCode,SmdpAddress,MatchingId,Label')
  assert.ok(
    lines.some((line) =>
      line.startsWith(`${a},LPA:1$rsp.provider.example$TAKEN-A,rsp.provider.example,TAKEN-A,yard`),
    ),
  )
  assert.is(lines.length, 3)
  const sheet = await bed.request('GET', `/v1/esim/sheet?batch=${batch.id}`)
  assert.ok(String(sheet.body).includes('LPA:1$rsp.provider.example$TAKEN-A'))
  const handout = await bed.request('GET', `/v1/sims/handout?batch_id=${batch.id}`)
  assert.is(String(handout.body).match(/aria-label="QR/g)?.length, 2)
})

http('takes another code for a SIM instead of the one before, and none that was revoked', async () => {
  const batch = await batchOf(1)
  const row = (id: string): string => `iccid,ac\n${batch.iccids[0]},LPA:1$rsp.provider.example$${id}\n`
  assert.is((await report(row('FIRST'))).imported, 1)
  assert.is((await report(row('SECOND'))).replaced, 1)
  assert.equal((await codesOf(batch)).map(({ state }) => state).toSorted(), ['released', 'revoked'])
  assert.match((await report(row('FIRST'))).rows[0]?.error ?? '', /was revoked here/)
})

http('orders by ES2+, goes on after a refusal, and releases later what is to wait', async () => {
  const batch = await batchOf(3)
  const [a = '', b = '', c = ''] = batch.iccids
  provider.stages.set(a, 'available').set(b, 'available')
  const first = await order({ batch_id: batch.id, release: false })
  assert.equal([first.ordered, first.remaining], [2, 0])
  assert.match(
    first.failed[0]?.reason ?? '',
    /8\.2\.1\/3\.9: the provider does not know this ICCID; send it the order file/,
  )
  assert.equal((await codesOf(batch)).map(({ state }) => state).toSorted(), [
    'allocated',
    'confirmed',
    'confirmed',
  ])
  provider.stages.set(c, 'available')
  assert.equal((await order({ batch_id: batch.id })).ordered, 3)
  assert.ok(
    (await codesOf(batch)).every(({ state, last_error: error }) => state === 'released' && error === null),
  )
  assert.ok(provider.calls.every(({ protocol }) => protocol === 'gsma/rsp/v2.5.0'))
  const { name = '', body = {} } = provider.calls[0] ?? {}
  assert.is(name, 'downloadOrder')
  assert.equal((body.header as Record<string, unknown>).functionRequesterIdentifier, '1.2.3.4')
  assert.is(String(body.iccid).length, 20)
  assert.match(errorOf(await post('harbour/order', { batch_id: batch.id }), 409).message, /has a code/)
})

http('loses no order whose answer was lost', async () => {
  const batch = await batchOf(1)
  const [iccid = ''] = batch.iccids
  provider.stages.set(iccid, 'available')
  provider.lost.add('downloadOrder')
  assert.match(
    (await order({ batch_id: batch.id })).failed[0]?.reason ?? '',
    /cannot be reached \(ECONNRESET\)/,
  )
  provider.broken.add('confirmOrder')
  assert.match((await order({ batch_id: batch.id })).failed[0]?.reason ?? '', /HTTP 500/)
  provider.broken.clear()
  assert.is((await order({ batch_id: batch.id })).ordered, 1)
  assert.is(provider.stages.get(iccid), 'released')
})

http(
  'cancels at the provider what is revoked here, also when it is away, and then gives a code of this box',
  async () => {
    const batch = await batchOf(2)
    const [iccid = ''] = batch.iccids
    const [hash = '', other = ''] = batch.hashes
    for (const one of batch.iccids) provider.stages.set(one, 'available')
    await order({ batch_id: batch.id })
    const token = (await codeOf(hash))?.token ?? ''
    provider.broken.add('cancelOrder')
    const gone = bodyOf<Code>(await bed.request('POST', '/v1/esim/revoke', { body: { token } }))
    assert.equal([gone.state, gone.provider_cancel], ['revoked', 'due'])
    await eventually(
      async () =>
        assert.match((await codeOf(hash))?.last_error ?? '', /cancelOrder: the provider answered HTTP 500/),
      60_000,
    )
    provider.broken.clear()
    await eventually(async () => assert.is((await codeOf(hash))?.provider_cancel, 'done'), 60_000)
    assert.is(provider.stages.get(iccid), 'available')
    // The end of a SIM ends its code at the provider, too.
    await bed.request('POST', `/v1/sims/${other}/revoke`, { body: {} })
    await eventually(() => assert.is(provider.stages.get(batch.iccids[1] ?? ''), undefined), 60_000)
  },
)

http('follows what the provider tells, from it alone', async () => {
  const batch = await batchOf(1)
  const [iccid = ''] = batch.iccids
  const [hash = ''] = batch.hashes
  await report(`iccid,ac\n${iccid},LPA:1$rsp.provider.example$NOTIFIED\n`)
  const { user, password, path } = bodyOf<Record<string, string>>(await post('harbour/password', {}))
  const tell = async (point: number, more: object = {}, pass = password): Promise<number> => {
    const { status } = await bed.request('POST', path as `/${string}`, {
      body: {
        header: { functionRequesterIdentifier: 'x', functionCallIdentifier: `${point}` },
        iccid: `${iccid}F`,
        profileType: 'std',
        timestamp: '2026-01-01T00:00:00Z',
        notificationPointId: `${point}`,
        notificationPointStatus: { status: 'Executed-Success' },
        ...more,
      },
      token: false,
      headers: { authorization: `Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}` },
    })
    return status
  }
  assert.is(await tell(3, {}, 'wrong'), 401)
  assert.is((await codeOf(hash))?.state, 'released')
  const eid = '89049032123451234512345678901235'
  const refused = { status: 'Failed', statusCodeData: { subjectCode: '8.2.7', reasonCode: '3.8' } }
  assert.is(await tell(2, { eid, notificationPointStatus: refused }), 204)
  assert.match((await codeOf(hash))?.last_error ?? '', /confirmation code failed: 8\.2\.7\/3\.8/)
  assert.is(await tell(3, { eid, timestamp: '2026-01-01T00:00:10Z' }), 204)
  assert.equal([(await codeOf(hash))?.state, (await codeOf(hash))?.eid_last4], ['downloaded', '1235'])
  assert.is(await tell(4, { eid, timestamp: '2026-01-01T00:00:20Z' }), 204)
  assert.is(await tell(101, { eid, timestamp: '2026-01-01T00:00:20Z' }), 204)
  // What comes late changes nothing any more.
  assert.is(await tell(4, { eid, timestamp: '2026-01-01T00:00:20Z' }), 204)
  const code = await codeOf(hash)
  assert.equal([code?.state, code?.profile?.state, code?.last_error], ['installed', 'enabled', null])
  assert.is(await tell(4, { iccid: '8988211000000999999' }), 204)
  assert.is(await tell(9), 400)
})

http('refuses settings that cannot work, and keeps what was there', async () => {
  const message = async (body: object): Promise<string> => errorOf(await put('other', body), 400).message
  assert.match(await message({ url: 'http://es2.example.org' }), /https/)
  assert.match(await message({ url: 'https://user:secret@es2.example.org' }), /without user/)
  assert.match(await message({ ca: 'x' }), /\/ca is no certificate/)
  assert.match(await message({ key: 'x' }), /\/cert is missing/)
  assert.match(await message({ order_key: 'x' }), /no OpenPGP public key/)
  assert.match(await message({ order_key: keys.privateKey }), /private key/)
  assert.is((await bed.request('GET', '/v1/esim/providers/other')).status, 404)
  const { order_key_users: users, order_key_fingerprint: print } = bodyOf<{
    readonly order_key_users: readonly string[]
    readonly order_key_fingerprint: string
  }>(await put('harbour', { name: 'Harbour' }))
  assert.equal([users, print.length], [['Provider'], 40])
  assert.match(
    errorOf(await bed.request('DELETE', '/v1/esim/providers/harbour'), 409).message,
    /can still be used/,
  )
  bodyOf(await put('file-only', {}))
  assert.match(
    errorOf(await post('file-only/order', { imsis: ['0123456789ab'] }), 409).message,
    /has no ES2\+/,
  )
  assert.match(
    errorOf(await post('file-only/order-file', { imsis: ['0123456789ab'] }), 409).message,
    /no public key/,
  )
  bodyOf(await bed.request('DELETE', '/v1/esim/providers/file-only'))
})

http.run()
