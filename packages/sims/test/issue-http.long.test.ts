import { join } from 'node:path'
import { healthBoardRef } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  eventually,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'

const http = suite('sims/issue-http')
let bed: Testbed

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)] })
})
http.after(() => bed.stop())

const issue = async (body: object): Promise<IssueAnswer> =>
  bodyOf(await bed.request('POST', '/v1/sims', { body }), 201)
/** SIMs that the service has in all. */
const stored = async (): Promise<number> =>
  bodyOf<{ readonly sims: readonly object[] }>(await bed.request('GET', '/v1/sims?limit=500')).sims.length
const show = async (hash: string): Promise<SimBody> => bodyOf(await bed.request('GET', `/v1/sims/${hash}`))

const health = () => {
  const found = bed
    .service(healthBoardRef)
    ?.components()
    .find(({ name }) => name === 'sims.provisioning')
  return [found?.status, found?.detail]
}

http('is well without an HSS driver while no SIM waits for one', async () => {
  await eventually(() => assert.is(health()[0], 'ok'))
  assert.match(String(health()[1]), /is not loaded.*0 SIMs wait/)
})

http('issues one SIM with the defaults of the node', async () => {
  const answer = await issue({})
  assert.is(answer.issued, 1)
  assert.match(answer.first.imsi_sha256_12, /^[0-9a-f]{12}$/)
  const sim = await show(answer.first.imsi_sha256_12)
  assert.equal(sim, { ...answer.sims[0], in_core: null })
  assert.equal([sim.state, sim.profile, sim.apns], ['issued', 'default', ['internet', 'ims']])
  const livesMs = Date.parse(sim.expires_at) - Date.now()
  assert.ok(Math.abs(livesMs - 365 * 86_400_000) < 60_000)
  assert.is(sim.provisioning.status, 'pending')
  const missing = 'the HSS driver docdb_shell is not loaded: load its plugin, or set hss.driver'
  assert.is(sim.provisioning.last_error, missing)
  await eventually(() =>
    assert.equal(health(), ['degraded', `docdb_shell: ${missing}; 1 SIM waits, 0 failed`]),
  )
})

http('issues a batch in the order of its numbers, and names a directory for it', async () => {
  const { output_dir, batch_id, sims } = await issue({ count: 3, msin_start: '100', label: 'shelf 1' })
  const hashes = ['0000000100', '0000000101', '0000000102'].map((msin) =>
    imsiHash(parseImsi(`99999${msin}`)!),
  )
  assert.equal(
    sims.map((sim) => sim.imsi_sha256_12),
    hashes,
  )
  assert.is(output_dir, join(bed.dataDir, 'batches', batch_id))
})

http('numbers the labels of SIMs that are issued together, all of one width', async () => {
  const { sims } = await issue({ count: 10, label: 'village' })
  const labels = sims.map(({ label }) => label)
  assert.equal(
    [labels.length, labels[0], labels[8], labels[9]],
    [10, 'village 01', 'village 09', 'village 10'],
  )
  assert.is((await issue({ label: 'village' })).sims[0]?.label, 'village', 'one has no number')
  const found: { sims: SimBody[] } = bodyOf(await bed.request('GET', '/v1/sims?q=village&limit=500'))
  assert.is(found.sims.length, 11)
  const long = { count: 100, label: 'x'.repeat(61) }
  assert.is(codeOf(await bed.request('POST', '/v1/sims', { body: long }), 400), 'validation_failed')
  // Without roaming there is nowhere else.
  const far = await bed.request('POST', '/v1/sims', { body: { reach: 'mesh' } })
  assert.is(codeOf(far, 400), 'validation_failed')
  assert.is((await issue({ count: 10, label: 'x'.repeat(61) })).sims[0]?.label?.length, 64)
})

http('gives an IMSI to one of several who ask for it at once, and keeps nothing of the others', async () => {
  const before = await stored()
  const asked = Array.from({ length: 4 }, () =>
    bed.request('POST', '/v1/sims', { body: { imsi: '999990000000600' } }),
  )
  const answers = await Promise.all(asked)
  assert.equal(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
  for (const answer of answers) if (answer.status === 409) assert.is(codeOf(answer, 409), 'sim_exists')
  assert.is(await stored(), before + 1)
})

http('refuses an IMSI that is there, one of another network, and what does not fit together', async () => {
  await issue({ imsi: '999990000000500' })
  assert.is(
    codeOf(await bed.request('POST', '/v1/sims', { body: { imsi: '999990000000500' } }), 409),
    'sim_exists',
  )
  assert.is(
    codeOf(await bed.request('POST', '/v1/sims', { body: { imsi: '001010000000001' } }), 409),
    'plmn_mismatch',
  )
  for (const body of [
    { count: 2, imsi: '999990000000501' },
    { count: 0 },
    { count: 1001 },
    { expires_in: '1d', expires_at: '2030-01-01T00:00:00Z' },
    { expires_at: '2001-01-01T00:00:00Z' },
    { apns: ['elsewhere'] },
    { msin_start: '9999999999', count: 2 },
    { ki: '00' },
  ])
    assert.is(
      codeOf(await bed.request('POST', '/v1/sims', { body }), 400),
      'validation_failed',
      JSON.stringify(body),
    )
})

http('lists page by page without a gap and by filter', async () => {
  const { batch_id, sims } = await issue({ count: 5, label: 'pages', profile: 'iot' })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const query = new URLSearchParams({ batch_id, limit: '2', ...(cursor === null ? {} : { cursor }) })
    const page: { sims: SimBody[]; next_cursor: string | null } = bodyOf(
      await bed.request('GET', `/v1/sims?${query}`),
    )
    seen.push(...page.sims.map((sim) => sim.imsi_sha256_12))
    cursor = page.next_cursor
  } while (cursor !== null)
  assert.equal(seen.toSorted(), sims.map((sim) => sim.imsi_sha256_12).toSorted())
  const first = seen[0] ?? ''
  const label = encodeURIComponent(sims.find((sim) => sim.imsi_sha256_12 === first)?.label ?? '')
  for (const query of [`q=${first.slice(0, 9)}`, `profile=iot&label=${label}&state=issued&q=${first}`]) {
    const page: { sims: SimBody[] } = bodyOf(await bed.request('GET', `/v1/sims?${query}`))
    assert.equal(
      page.sims.map((sim) => sim.imsi_sha256_12),
      [first],
    )
  }
  assert.is(codeOf(await bed.request('GET', '/v1/sims?state=gone'), 400), 'validation_failed')
})

http('suspends, resumes and revokes, and refuses what the table lacks', async () => {
  const { first } = await issue({})
  const move = (verb: string, body?: object): ReturnType<Testbed['request']> =>
    bed.request('POST', `/v1/sims/${first.imsi_sha256_12}/${verb}`, body === undefined ? {} : { body })
  const suspended = bodyOf<SimBody>(await move('suspend', { reason: 'lost' }))
  assert.equal(
    [suspended.state, suspended.suspend_reason, suspended.detached],
    ['suspended', 'operator', 'not_attached'],
  )
  assert.is(bodyOf<SimBody>(await move('suspend')).state, 'suspended')
  assert.is(bodyOf<SimBody>(await move('resume')).state, 'issued')
  assert.is(bodyOf<SimBody>(await move('revoke')).state, 'revoked')
  assert.is(bodyOf<SimBody>(await move('revoke')).state, 'revoked')
  for (const verb of ['suspend', 'resume']) assert.is(codeOf(await move(verb), 409), 'sim_state_conflict')
  const unknown = await bed.request('POST', '/v1/sims/ffffffffffff/suspend')
  assert.is(codeOf(unknown, 404), 'sim_not_found')
  assert.match(JSON.stringify(unknown.body), /ffffffffffff/)
})

http('swaps a SIM once within the cool-down, with what its subscriber had', async () => {
  const { first } = await issue({ label: 'alice', profile: 'gold', msisdn: '491700000001' })
  const { sims } = await issue({ replaces: first.imsi_sha256_12 })
  const fresh = sims[0]!
  assert.equal([fresh.label, fresh.profile, fresh.replaces], ['alice', 'gold', first.imsi_sha256_12])
  assert.is((await show(first.imsi_sha256_12)).state, 'revoked')
  const again = await bed.request('POST', '/v1/sims', { body: { replaces: fresh.imsi_sha256_12 } })
  assert.is(codeOf(again, 409), 'sim_swap_cooldown')
  assert.is((await show(fresh.imsi_sha256_12)).state, 'issued')
  const gone = await bed.request('POST', '/v1/sims', { body: { replaces: first.imsi_sha256_12 } })
  assert.is(codeOf(gone, 409), 'sim_state_conflict')
})

http('counts SIMs and not requests against the limit of the issuer', async () => {
  const token = bed.credential({ kind: 'token', id: 'issuer', roles: ['sim:issuer'] })
  bodyOf(await bed.request('POST', '/v1/sims', { token, body: { count: 400 } }), 201)
  const refused = await bed.request('POST', '/v1/sims', { token, body: { count: 101 } })
  assert.is(codeOf(refused, 429), 'rate_limited')
  assert.match(JSON.stringify(refused.body), /500.*PUT \/v1\/policy/)
  bodyOf(await bed.request('POST', '/v1/sims', { token, body: { count: 100 } }), 201)
})

http('lets nobody cut off by replacing whom they could not revoke', async () => {
  const stranger = bed.credential({ kind: 'token', id: 'stranger', roles: ['sim:issuer'] })
  const desk = bed.credential({ kind: 'token', id: 'desk', roles: ['sim:issuer'] })
  const admin = bed.credential({ kind: 'token', id: 'simadmin', roles: ['sim:admin'] })
  const replace = (token: string, hash: string): ReturnType<Testbed['request']> =>
    bed.request('POST', '/v1/sims', { token, body: { replaces: hash } })
  const fresh = async (token: string): Promise<string> =>
    bodyOf<IssueAnswer>(await bed.request('POST', '/v1/sims', { token, body: {} }), 201).first.imsi_sha256_12
  const sim = await fresh(desk)
  assert.is(codeOf(await replace(stranger, sim), 403), 'forbidden')
  assert.is((await show(sim)).state, 'issued')
  const [denied] = await bed.audit()
  assert.equal([denied?.action, denied?.outcome, denied?.principal.id], ['sim.issue', 'denied', 'stranger'])
  assert.is((await replace(desk, sim)).status, 201, 'a misprint at the desk')
  assert.is((await replace(admin, await fresh(desk))).status, 201)
  const imported = await bed.request('POST', '/v1/sims/import', {
    token: desk,
    body: { sims: [{ imsi: '999990000055555', ki: '0'.repeat(32), opc: '0'.repeat(32) }] },
  })
  const [row] = bodyOf<{ results: { imsi_sha256_12: string }[] }>(imported).results
  assert.is(codeOf(await replace(desk, row!.imsi_sha256_12), 403), 'forbidden')
})

http('counts a replacement as a revocation', async () => {
  const token = bed.credential({ kind: 'token', id: 'swapper', roles: ['sim:admin'] })
  const { sims } = await issue({ count: 201 })
  const answers: number[] = []
  for (const { imsi_sha256_12: hash } of sims) {
    const answer = await bed.request('POST', '/v1/sims', { token, body: { replaces: hash } })
    answers.push(answer.status)
    if (answer.status === 429) assert.match(JSON.stringify(answer.body), /sim_revoke: .* of 200 an hour/)
  }
  assert.equal([answers.filter((status) => status === 201).length, answers.at(-1)], [200, 429])
  assert.is((await show(sims.at(-1)!.imsi_sha256_12)).state, 'issued')
})

http('answers a repeated key with the first result and issues nothing more', async () => {
  const request = { body: { count: 2, label: 'once' }, headers: { 'idempotency-key': 'k-1' } }
  const first = await bed.request('POST', '/v1/sims', request)
  const second = await bed.request('POST', '/v1/sims', request)
  assert.equal(second.body, first.body)
  assert.is(second.headers.get('idempotency-replayed'), 'true')
  assert.is(bodyOf<{ sims: SimBody[] }>(await bed.request('GET', '/v1/sims?q=once')).sims.length, 2)
})

http('keeps a raw IMSI out of audit and events', async () => {
  await issue({ imsi: '999990000000777' })
  const everything = JSON.stringify([await bed.audit(), await bed.events()])
  assert.not.match(everything, /99999\d{10}/)
})

http.run()
