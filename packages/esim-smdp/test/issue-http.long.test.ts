import { type Plugin, type PolicyReader, policyRef } from '@steeple/contracts'
import {
  assert,
  bodyOf,
  eventually,
  type InlinePlugin,
  suite,
  type Testbed,
  unusedPort,
} from '@steeple/testkit'
import type { OwnParts } from '../src/plugin.ts'
import { code, errorOf, type Issued, issue, standIns, startBed } from './support/bed.ts'

/** A policy with these limits per hour, and no cool-down between swaps. */
function limits(rate_limits: Readonly<Record<string, number>>): InlinePlugin {
  const perHour = Object.fromEntries(
    Object.entries(rate_limits).map(([name, limit]) => [`${name}_per_hour`, limit]),
  )
  // What the code under test reads of a policy.
  const reader = {
    bundle: () => ({ apns: ['internet'], rate_limits: perHour, sim_swap_cooldown_hours: 0 }),
  } as unknown as PolicyReader
  const plugin: Plugin = { setup: async () => ({ services: new Map([[policyRef.id, reader]]) }) }
  return {
    name: '@example/limits',
    version: '1.0.0',
    plugin,
    manifest: {
      id: 'fake-limits',
      kind: 'feature',
      contracts: '*',
      config_path: 'fake_limits',
      provides: [policyRef.id],
      handover: 'overlap',
    },
  }
}

const http = suite('esim-smdp/issue-http')
let bed: Testbed

http.before(async () => {
  bed = await startBed({}, { plugins: [limits({ sim_issue: 4_000, sim_revoke: 4_000 })] })
})
http.after(() => bed.stop())

const sim = async (body: object = {}): Promise<string> =>
  bodyOf<{ first: { imsi_sha256_12: string } }>(await bed.request('POST', '/v1/sims', { body }), 201).first
    .imsi_sha256_12
const refusal = async (body: object, status: number): Promise<{ code: string; message: string }> =>
  errorOf(await bed.request('POST', '/v1/esim/issue', { body }), status)
const MATCHING = /^LPA:1\$smdp\.example\.org\$[0-9A-Z]{26}$/

http('issues a code for a SIM that exists', async () => {
  const hash = await sim()
  const answer = await issue(bed, { imsi_sha256_12: hash })
  assert.match(answer.activation_code, MATCHING)
  assert.equal(
    [answer.imsi_sha256_12, answer.state, answer.confirmation_required, answer.codes],
    [hash, 'released', false, undefined],
  )
  const livesMs = Date.parse(answer.expires_at) - Date.now()
  assert.ok(Math.abs(livesMs - 30 * 86_400_000) < 60_000)
  const shown = await code(bed, answer.token)
  assert.equal([shown.state, shown.downloads, shown.eid_last4, shown.profile], ['released', 0, null, null])
})

http('issues a SIM with its code, with a life of its own for each', async () => {
  const answer = await issue(bed, { label: 'ann', expires_in: '2d', sim_expires_in: '90d' })
  const record = bodyOf<{ label: string; expires_at: string; state: string }>(
    await bed.request('GET', `/v1/sims/${answer.imsi_sha256_12}`),
  )
  assert.equal([record.label, record.state], ['ann', 'issued'])
  const days = (text: string): number => Math.round((Date.parse(text) - Date.now()) / 86_400_000)
  assert.equal([days(answer.expires_at), days(record.expires_at)], [2, 90])
})

http('tells those who listen for SIMs of each that it makes, beside its own event', async () => {
  const before = (await bed.events()).length
  const one = await issue(bed, { label: 'bea' })
  const many = await issue(bed, { count: 3 })
  await issue(bed, { imsi_sha256_12: await sim() })
  const told = (await bed.events()).slice(before)
  const of = (type: string): readonly string[] =>
    told.filter((event) => event.type === type).map(({ subject }) => subject)
  assert.is(of('esim.issue').length, 3)
  const made = (many.codes ?? []).map(({ imsi_sha256_12 }) => imsi_sha256_12)
  // The last one is of POST /v1/sims: its code makes no SIM.
  assert.equal(of('sim.issue').slice(0, 4).toSorted(), [one.imsi_sha256_12, ...made].toSorted())
  assert.is(of('sim.issue').length, 5)
  const first = told.find(({ type }) => type === 'sim.issue')
  assert.equal([first?.data.count, first?.data.batch_id], [1, one.batch_id])
})

http('issues one without a word on it', async () => {
  const answer = bodyOf<Issued>(await bed.request('POST', '/v1/esim/issue'), 201)
  assert.match(answer.activation_code, MATCHING)
})

http('issues several at once, each with a code of its own', async () => {
  const answer = await issue(bed, { count: 3, confirmation_code: '4711' })
  const codes = answer.codes ?? []
  assert.is(codes.length, 3)
  assert.is(new Set(codes.map(({ activation_code }) => activation_code)).size, 3)
  for (const one of codes) assert.match(one.activation_code, /\$\$1$/)
  assert.equal(codes[0]?.token, answer.token)
  const listed = bodyOf<{ codes: readonly { token: string }[] }>(
    await bed.request('GET', `/v1/esim/codes?batch_id=${answer.batch_id}`),
  ).codes
  assert.equal(listed.map(({ token }) => token).sort(), codes.map(({ token }) => token).sort())
})

http('gives each SIM of a batch a code, and what has one already none', async () => {
  const { batch_id, sims } = bodyOf<{ batch_id: string; sims: readonly { imsi_sha256_12: string }[] }>(
    await bed.request('POST', '/v1/sims', { body: { count: 510 } }),
    201,
  )
  await issue(bed, { imsi_sha256_12: sims[0]?.imsi_sha256_12 })
  const first = await issue(bed, { batch_id })
  assert.equal([first.codes?.length, first.remaining], [500, 9])
  const rest = await issue(bed, { batch_id })
  assert.equal([rest.codes?.length, rest.remaining], [9, 0])
  const { code: none, message } = await refusal({ batch_id }, 409)
  assert.is(none, 'esim_code_conflict')
  assert.match(message, /no SIM of batch .* is without a code/)
  assert.is((await refusal({ batch_id: 'b-none' }, 404)).code, 'not_found')
})

http('puts a new code in the place of one that nobody has downloaded', async () => {
  const first = await issue(bed, {})
  const second = await issue(bed, { imsi_sha256_12: first.imsi_sha256_12 })
  assert.is((await code(bed, first.token)).state, 'revoked')
  assert.is((await code(bed, second.token)).state, 'released')
  const { codes } = bodyOf<{ codes: readonly { token: string }[] }>(
    await bed.request('GET', `/v1/esim/codes?imsi=${first.imsi_sha256_12}&state=released`),
  )
  assert.equal(
    codes.map(({ token }) => token),
    [second.token],
  )
})

http('moves a subscriber from a card to an eSIM, and the code of the old SIM ends with it', async () => {
  const card = await issue(bed, { label: 'bo' })
  const next = await issue(bed, { replaces: card.imsi_sha256_12 })
  const old = bodyOf<{ state: string }>(await bed.request('GET', `/v1/sims/${card.imsi_sha256_12}`))
  const fresh = bodyOf<{ label: string; replaces: string }>(
    await bed.request('GET', `/v1/sims/${next.imsi_sha256_12}`),
  )
  assert.equal([old.state, fresh.label, fresh.replaces], ['revoked', 'bo', card.imsi_sha256_12])
  await eventually(async () => {
    const { state, last_error } = await code(bed, card.token)
    assert.equal([state, last_error], ['revoked', 'its SIM was revoked'])
  })
  assert.is((await code(bed, next.token)).state, 'released')
})

http('refuses SIMs that are not there, revoked, or without an ICCID', async () => {
  assert.is((await refusal({ imsi_sha256_12: '000000000000' }, 404)).code, 'sim_not_found')
  const gone = await sim()
  bodyOf(await bed.request('POST', `/v1/sims/${gone}/revoke`, { body: {} }))
  assert.is((await refusal({ imsi_sha256_12: gone }, 409)).code, 'sim_state_conflict')
  const bare = bodyOf<{ results: readonly { imsi_sha256_12: string }[] }>(
    await bed.request('POST', '/v1/sims/import', {
      body: { sims: [{ imsi: '999990000012345', ki: '0'.repeat(32), opc: '1'.repeat(32) }] },
    }),
  ).results[0]?.imsi_sha256_12
  const { code: none, message } = await refusal({ imsi_sha256_12: bare }, 409)
  assert.is(none, 'esim_code_conflict')
  assert.match(message, /has no ICCID/)
})

http('refuses what does not fit together, and leaves nothing of it', async () => {
  const hash = await sim()
  for (const [body, pointer] of [
    [{ imsi_sha256_12: hash, label: 'x' }, '/label'],
    [{ imsi_sha256_12: hash, batch_id: 'b-1' }, '/batch_id'],
    [{ batch_id: 'b-1', eid: '8'.repeat(32) }, '/eid'],
    [{ count: 2, eid: '8'.repeat(32) }, '/eid'],
    [{ expires_in: '11y' }, '/expires_in'],
    [{ confirmation_code: 'a b c d' }, '/confirmation_code'],
    [{ eid: '123' }, '/eid'],
    [{ count: 2, imsi: '999990000054321' }, '/imsi'],
  ] as const) {
    const { code: refused, message } = await refusal(body, 400)
    assert.is(refused, 'validation_failed', JSON.stringify(body))
    assert.ok(message.includes(pointer), message)
  }
})

http('ties a code to an EID', async () => {
  const answer = await issue(bed, { eid: '89049032123451234512345678901235' })
  assert.is(answer.eid_last4, '1235')
})

http('counts codes as SIMs against the limit', async () => {
  const token = bed.credential({ kind: 'token', id: 'clerk', roles: ['sim:issuer'] })
  const ask = (count: number): ReturnType<Testbed['request']> =>
    bed.request('POST', '/v1/esim/issue', { token, body: { count } })
  const { headers } = await ask(1)
  assert.match(headers.get('ratelimit') ?? '', /"sim_issue";r=3999/)
})

http('answers a repeated request with what it answered first, sealed meanwhile', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = await issue(bed, { label: 'cy' }, headers)
  const again = await issue(bed, { label: 'cy' }, headers)
  assert.equal(again, first)
})

http('audits who issued what, without what opens it', async () => {
  const answer = await issue(bed, { confirmation_code: 'quite-secret-4711' })
  const entry = (await bed.audit()).find(({ action }) => action === 'esim.issue')
  const text = JSON.stringify(entry)
  assert.ok(text.includes(answer.token) && text.includes(answer.imsi_sha256_12))
  const matching = answer.activation_code.split('$')[2] ?? ''
  for (const secret of [matching, 'quite-secret-4711']) assert.not.ok(text.includes(secret))
  const events = JSON.stringify(await bed.events())
  assert.ok(events.includes('esim.issue') && !events.includes(matching))
})

http('wants its own role', async () => {
  const token = bed.credential({ kind: 'token', id: 'looker', roles: ['viewer'] })
  for (const [method, path] of [
    ['POST', '/v1/esim/issue'],
    ['GET', '/v1/esim/codes'],
    ['GET', '/v1/esim/codes/e-1/qr'],
    ['POST', '/v1/esim/revoke'],
    ['GET', '/v1/esim/sheet?batch=b-20260101-000000000001'],
  ] as const) {
    const body = method === 'POST' ? { body: {} } : {}
    assert.is(errorOf(await bed.request(method, path, { token, ...body }), 403).code, 'forbidden')
  }
})

http('says what is missing before it issues', async () => {
  const missing = async (
    config: object,
    own: OwnParts = standIns(),
    mode: 'lab' | 'rf' = 'rf',
  ): Promise<Issued | { code: string; message: string }> => {
    const server = { mode, country: 'DE' }
    await using other = await startBed(config as Record<string, unknown>, { config: { server } }, own)
    return errorOf(await other.request('POST', '/v1/esim/issue', { body: {} }), 409)
  }
  const off = await missing({ enabled: false })
  assert.equal(off, { code: 'esim_disabled', message: 'eSIM is off; set esim.enabled', ...rest(off) })
  const nowhere = await missing({ smdp_address: '' })
  assert.match(JSON.stringify(nowhere), /esim_not_ready.*esim\.smdp_address is empty/)
  const certs = { ...standIns().certs, identities: () => [] }
  assert.match(
    JSON.stringify(await missing({}, { ...standIns(), certs })),
    /esim_not_ready.*svc esim certs init/,
  )
  assert.match(JSON.stringify(await missing({}, {})), /esim_not_ready.*svc esim certs init/)
  const listen = `127.0.0.1:${await unusedPort()}`
  const unserved = await missing({ listen }, { certs: standIns().certs })
  assert.match(
    JSON.stringify(unserved),
    /esim_not_ready.*no phone could download it: there is no valid CERT\.DPtls for esim\.listen.*svc esim certs init/,
  )
})

http(
  'issues at once in a lab, with test certificates that it makes for it, and not where a radio may transmit',
  async () => {
    for (const mode of ['lab', 'rf'] as const) {
      const config = { server: { mode, country: 'DE' }, esim: { enabled: true } }
      await using other = await startBed({}, { config }, {})
      const answer = await other.request('POST', '/v1/esim/issue', { body: {} })
      const { body } = await other.request('GET', '/v1/esim/certs')
      const { certs } = body as { certs: readonly { has_key: boolean }[] }
      if (mode === 'lab') {
        assert.match(bodyOf<Issued>(answer, 201).activation_code, /^LPA:1\$127\.0\.0\.1(:\d+)?\$/)
        assert.equal([certs.length, certs.every(({ has_key }) => has_key)], [8, true])
      } else assert.equal([errorOf(answer, 409).code, certs.length], ['esim_not_ready', 0])
    }
  },
)

function rest(error: object): object {
  const { code: _, message: __, ...others } = error as Record<string, unknown>
  return others
}

http.run()
