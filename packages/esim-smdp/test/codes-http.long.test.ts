import { createHash } from 'node:crypto'
import {
  assert,
  bodyOf,
  eventually,
  fakeClock,
  suite,
  type Testbed,
  type TestResponse,
} from '@steeple/testkit'
import { CODES, HELD, type HeldRow } from '../src/store/rows.ts'
import { type CodeBody, code, contextOf, errorOf, issue, startBed } from './support/bed.ts'

/** Puts the rows in place that a download by that eUICC leaves behind, and what it has told since. */
async function deliver(
  bed: Testbed,
  token: string,
  eid: string,
  state: HeldRow['state'] = 'installed',
): Promise<void> {
  const { db, clock } = contextOf(bed)
  const eid_hash = createHash('sha256').update(eid).digest('hex')
  await db.write(async (tx) => {
    const row = await CODES.find(tx, { token })
    if (row === undefined) throw new Error(`there is no code ${token}`)
    const nowMs = Math.floor(clock.nowMs())
    await CODES.put(tx, { ...row, state: 'installed', downloads: 1, eid_hash, eid_last4: eid.slice(-4) })
    await HELD.put(tx, {
      eid_hash,
      token,
      hash: row.hash,
      seq: 1,
      state,
      delivered_at_ms: nowMs,
      installed_at_ms: nowMs,
      enabled_at_ms: null,
      disabled_at_ms: null,
      deleted_at_ms: state === 'deleted' ? nowMs : null,
    })
  })
}

const http = suite('esim-smdp/codes-http')
let bed: Testbed

http.before(async () => {
  bed = await startBed()
})
http.after(() => bed.stop())

const qr = (token: string, accept?: string): Promise<TestResponse> =>
  bed.request('GET', `/v1/esim/codes/${token}/qr`, accept === undefined ? {} : { headers: { accept } })
const revoke = async (token: string): Promise<CodeBody> =>
  bodyOf<CodeBody>(await bed.request('POST', '/v1/esim/revoke', { body: { token } }))

http('shows a code as SVG, PNG or JSON, as Accept asks', async () => {
  const { token, activation_code } = await issue(bed, {})
  const svg = await qr(token)
  assert.equal([svg.status, svg.headers.get('content-type')], [200, 'image/svg+xml'])
  assert.match(String(svg.body), /^<svg[^>]*viewBox="0 0 37 37"/)
  assert.is(svg.headers.get('cache-control'), 'no-store')
  const png = await qr(token, 'image/png')
  assert.is(png.headers.get('content-type'), 'image/png')
  const json = bodyOf<{ activation_code: string; qr_text: string }>(await qr(token, 'application/json'))
  assert.equal(
    [json.activation_code, json.qr_text],
    [activation_code, activation_code.replace('smdp.example.org', 'SMDP.EXAMPLE.ORG')],
  )
  assert.is(
    (await qr(token, 'text/html;q=0.9, image/*;q=0.5, application/json;q=0.1')).headers.get('content-type'),
    'image/svg+xml',
  )
  assert.is(errorOf(await qr(token, 'text/html'), 400).code, 'validation_failed')
})

http('revokes a code once, and shows it no more', async () => {
  const { token } = await issue(bed, {})
  assert.is((await revoke(token)).state, 'revoked')
  assert.is((await revoke(token)).state, 'revoked')
  assert.is(errorOf(await qr(token), 409).code, 'esim_code_conflict')
  assert.is(
    errorOf(await bed.request('POST', '/v1/esim/revoke', { body: { token: 'e-0' } }), 404).code,
    'esim_code_not_found',
  )
})

http('leaves the SIM of a revoked code as it is', async () => {
  const { token, imsi_sha256_12: hash } = await issue(bed, {})
  await revoke(token)
  assert.is(bodyOf<{ state: string }>(await bed.request('GET', `/v1/sims/${hash}`)).state, 'issued')
})

http('gives no second code for a profile that is on an eUICC, and then for that eUICC alone', async () => {
  const first = await issue(bed, {})
  const hash = first.imsi_sha256_12
  await deliver(bed, first.token, '89049032123451234512345678901235')
  const { code: refused, message } = errorOf(
    await bed.request('POST', '/v1/esim/issue', { body: { imsi_sha256_12: hash } }),
    409,
  )
  assert.is(refused, 'esim_code_conflict')
  assert.ok(message.includes('…1235') && message.includes(first.token) && message.includes('replaces'))
  const gone = await revoke(first.token)
  assert.equal([gone.state, gone.profile?.state], ['revoked', 'installed'])
  const second = await issue(bed, { imsi_sha256_12: hash })
  assert.is(second.eid_last4, '1235')
  const other = await bed.request('POST', '/v1/esim/issue', {
    body: { imsi_sha256_12: hash, eid: '89049032123451234512345678901234' },
  })
  assert.is(errorOf(other, 409).code, 'esim_code_conflict')
})

http('leaves orders that are not released to whoever ordered them', async () => {
  const { token, imsi_sha256_12: hash } = await issue(bed, {})
  const { db } = contextOf(bed)
  await db.write(async (tx) => {
    const row = await CODES.find(tx, { token })
    if (row !== undefined) await CODES.put(tx, { ...row, state: 'confirmed' })
  })
  assert.match(errorOf(await qr(token), 409).message, /not released yet/)
  const again = await bed.request('POST', '/v1/esim/issue', { body: { imsi_sha256_12: hash } })
  assert.match(errorOf(again, 409).message, /is ordered/)
  await revoke(token)
  await issue(bed, { imsi_sha256_12: hash })
})

http('gives one to whoever comes once the eUICC has told that it deleted the profile', async () => {
  const first = await issue(bed, {})
  await deliver(bed, first.token, '89049032123451234512345678901235', 'deleted')
  const second = await issue(bed, { imsi_sha256_12: first.imsi_sha256_12 })
  assert.is(second.eid_last4, null)
})

http('lists codes by state, page by page, newest first', async () => {
  const { batch_id, codes = [] } = await issue(bed, { count: 5 })
  await revoke(codes[0]?.token ?? '')
  const seen: CodeBody[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { codes: readonly CodeBody[]; next_cursor: string | null } = bodyOf(
      await bed.request(
        'GET',
        `/v1/esim/codes?limit=2&batch_id=${batch_id}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      ),
    )
    seen.push(...page.codes)
    cursor = page.next_cursor
  }
  assert.is(seen.length, 5)
  assert.is(new Set(seen.map(({ token }) => token)).size, 5)
  const released = bodyOf<{ codes: readonly CodeBody[] }>(
    await bed.request('GET', `/v1/esim/codes?state=released&batch_id=${batch_id}`),
  )
  assert.is(released.codes.length, 4)
  assert.is(errorOf(await bed.request('GET', '/v1/esim/codes?state=lost'), 400).code, 'validation_failed')
})

http('shows no matching id in a record', async () => {
  const { token, activation_code } = await issue(bed, {})
  const text = JSON.stringify(await code(bed, token))
  assert.not.ok(text.includes(activation_code.split('$')[2] ?? '?'))
})

http('prints the cards of a batch on a page that runs nothing', async () => {
  const { batch_id, codes = [] } = await issue(bed, { count: 12, label: '<script>alert("é")</script> & co' })
  await revoke(codes[0]?.token ?? '')
  const { status, headers, body } = await bed.request('GET', `/v1/esim/sheet?batch=${batch_id}`)
  const html = String(body)
  assert.is(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/)
  assert.is(html.match(/<article /g)?.length, 11)
  assert.is(html.match(/<section /g)?.length, 2)
  assert.ok(html.includes('&lt;script&gt;alert(&quot;é&quot;)&lt;/script&gt; &amp; co'))
  assert.not.ok(/<script|<img|https?:|url\(|@import/i.test(html))
  assert.ok(codes.slice(1).every(({ activation_code }) => html.includes(activation_code)))
  assert.is(
    errorOf(await bed.request('GET', '/v1/esim/sheet?batch=b-20260101-000000000000'), 404).code,
    'not_found',
  )
  // A printed page carries the mark of the product.
  const MARK = 1
  // One of these SIMs has no code any more: it is told like a card.
  const handout = String((await bed.request('GET', `/v1/sims/handout?batch_id=${batch_id}&language=fr`)).body)
  assert.equal([handout.match(/<article /g)?.length, handout.match(/<svg /g)?.length], [12, 11 + MARK])
  assert.equal(
    [handout.match(/Scannez le code/g)?.length, handout.match(/Mettez la carte/g)?.length],
    [11, 1],
  )
  assert.not.ok(codes.some(({ activation_code }) => handout.includes(activation_code)))
  const french = await bed.request('GET', `/v1/esim/sheet?batch=${batch_id}&language=fr`)
  assert.match(String(french.body), /<html lang="fr">[\s\S]*Scannez le code/)
  assert.not.match(String(french.body), /Scan the/)
  assert.is(
    errorOf(await bed.request('GET', `/v1/esim/sheet?batch=${batch_id}&language=xx`), 400).code,
    'validation_failed',
  )
})

http('ends a code when its time is over', async () => {
  const clock = fakeClock()
  await using timed = await startBed({}, { clock })
  const { token } = await issue(timed, { expires_in: '5m' })
  await clock.advance(290_000)
  assert.is((await code(timed, token)).state, 'released')
  await eventually(async () => {
    await clock.advance(130_000)
    assert.is((await code(timed, token)).state, 'expired')
  })
  assert.ok((await timed.events()).some(({ type, subject }) => type === 'esim.expired' && subject === token))
})

http.run()
