import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, against } from './fake-service.ts'

const esim = suite('cli/esim')

const HASH = '5c1b940e9d29'
const TOKEN = 'e-0123456789abcdefghjk'
const ACTIVATION = 'LPA:1$smdp.example.org$0123456789ABCDEFGHJKMNPQRS'
const ISSUED = {
  token: TOKEN,
  activation_code: ACTIVATION,
  imsi_sha256_12: HASH,
  state: 'released',
  iccid_last4: '4711',
  batch_id: 'b-1',
  expires_at: '2030-01-01T00:00:00.000Z',
}

esim(
  'issues a code for a SIM and shows it as a QR code and as text; the confirmation code comes by standard input',
  async () => {
    const args = ['esim', 'issue', HASH, '--expires-in', '7d', '--confirmation-code', '-']
    const { code, out, seen } = await against(() => ({ status: 201, body: ISSUED }), args, {
      input: '4711\n',
    })
    assert.is(code, 0)
    assert.equal(seen[0]?.body, { imsi_sha256_12: HASH, expires_in: '7d', confirmation_code: '4711' })
    assert.match(out, /^█{37}$/m)
    assert.ok(out.endsWith(`${ACTIVATION}\n`))
    assert.not.ok(out.includes('\u001b'))
  },
)

esim('asks for a batch until every SIM has a code, and shows none of them', async () => {
  let left = 2
  const { code, out, err, seen } = await against(() => {
    left -= 1
    return { status: 201, body: { ...ISSUED, codes: [ISSUED], remaining: left } }
  }, ['esim', 'issue', '--batch', 'b-1'])
  assert.equal([code, seen.length], [0, 2])
  assert.is(out.match(new RegExp(TOKEN, 'g'))?.length, 2)
  assert.not.ok(out.includes('LPA:'))
  assert.match(err, /svc esim sheet b-1 --out cards\.html/)
})

const REFUSED = (headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 429,
  headers,
  body: { error: { code: 'rate_limited', message: 'sim_issue: 500 an hour' } },
})

esim('shows what was issued when the limit stops a batch, and says how to go on', async () => {
  for (const json of [[], ['--json']]) {
    let calls = 0
    const { code, out, err, seen } = await against(() => {
      calls += 1
      if (calls === 2) return REFUSED({ 'retry-after': '3600' })
      return { status: 201, body: { ...ISSUED, codes: [ISSUED], remaining: 7 } }
    }, ['esim', 'issue', '--batch', 'b-1', ...json])
    assert.equal([code, seen.length], [1, 2])
    assert.ok(out.includes(TOKEN), 'what is issued is not lost')
    assert.match(err, /rate_limited/)
    if (json.length > 0) assert.is((JSON.parse(out) as { remaining: number }).remaining, 7)
    else assert.match(err, /7 SIMs are left.*3600 s.*--wait/)
  }
})

esim('waits as long as the service says, when it is asked to', async () => {
  let calls = 0
  const { code, out, err, seen } = await against(() => {
    calls += 1
    if (calls <= 2) return REFUSED({ 'retry-after': '0' })
    return { status: 201, body: { ...ISSUED, codes: [ISSUED], remaining: calls === 3 ? 1 : 0 } }
  }, ['esim', 'issue', '--batch', 'b-1', '--wait'])
  assert.equal([code, seen.length], [0, 4])
  assert.is(out.match(new RegExp(TOKEN, 'g'))?.length, 2)
  assert.match(err, /0 issued.*waiting 1 s/)
  const keys = new Set(seen.map(({ headers }) => headers['idempotency-key']))
  assert.is(keys.size, 4, 'each part is asked for by itself')
})

esim('writes pictures and sheets that only their owner can read', async () => {
  await using folder = await tempDir()
  const png = join(folder.path, 'code.png')
  const html = join(folder.path, 'cards.html')
  await writeFile(html, 'before', { mode: 0o644 })
  const body = { token: TOKEN, activation_code: ACTIVATION, qr_text: ACTIVATION.toUpperCase() }
  const drawn = await against(() => ({ status: 200, body }), ['esim', 'qr', TOKEN, '--png', png])
  assert.equal([drawn.code, drawn.out], [0, ''])
  assert.is((await readFile(png)).subarray(1, 4).toString(), 'PNG')
  const printed = await against(() => ({ status: 200, body: {} }), ['esim', 'sheet', 'b-1', '--out', html])
  assert.is(printed.code, 0)
  assert.equal([printed.seen[0]?.path, printed.seen[0]?.query], ['/v1/esim/sheet', { batch: 'b-1' }])
  for (const file of [png, html]) assert.is((await stat(file)).mode & 0o777, 0o600)
  assert.is(await readFile(html, 'utf8'), '{}')
})

esim('says what a revoked code leaves on a phone', async () => {
  const record = { token: TOKEN, imsi_sha256_12: HASH, state: 'revoked', profile: { state: 'enabled' } }
  const { code, err } = await against(() => ({ status: 200, body: record }), ['esim', 'revoke', TOKEN])
  assert.is(code, 0)
  assert.match(err, new RegExp(`svc sim suspend ${HASH} cuts it off`))
})

esim('takes no activation code for a token, and does not repeat it', async () => {
  const { code, err, seen } = await against(() => ({ status: 200, body: {} }), ['esim', 'show', ACTIVATION])
  assert.equal([code, seen.length], [2, 0])
  assert.not.ok(err.includes(ACTIVATION))
  assert.match(err, /svc esim list shows it/)
})

esim.run()
