import { hash } from 'node:crypto'
import { type ImsiHash, type Plugin, type SimStay, type Visitors, visitorsRef } from '@steeple/contracts'
import { assert, eventually, type InlinePlugin, suite } from '@steeple/testkit'
import { begun, type Row, type World, world } from './support/world.ts'

const test = suite("the regulator's file over HTTP")

/** Where SIMs were beside their home: two stays, one of which goes on. */
const STAY: SimStay = {
  id: 'one',
  imsi: 'aaaaaaaaaaaa' as ImsiHash,
  servedBy: { nodeId: '22222222-2222-4222-8222-222222222222', name: 'harbour' },
  home: { nodeId: '11111111-1111-4111-8111-111111111111', name: 'village' },
  beganAtMs: Date.UTC(2026, 0, 1, 12),
  seenAtMs: Date.UTC(2026, 0, 1, 13),
  isOver: true,
}
const STAYS: readonly SimStay[] = [STAY, { ...STAY, id: 'two', beganAtMs: STAY.beganAtMs + 1, isOver: false }]

function roaming(): InlinePlugin {
  const visitors: Visitors = {
    among: async () => new Set(),
    count: async () => 0,
    stays: async ({ fromMs, toMs }, after) =>
      STAYS.slice(after === undefined ? 0 : STAYS.indexOf(after) + 1).filter(
        ({ beganAtMs, seenAtMs, isOver }) => beganAtMs < toMs && (!isOver || seenAtMs >= fromMs),
      ),
  }
  const plugin: Plugin = { setup: async () => ({ services: new Map([[visitorsRef.id, visitors]]) }) }
  const provides = [visitorsRef.id]
  const manifest = {
    id: 'fake-roaming',
    kind: 'feature',
    contracts: '*',
    config_path: 'fake_roaming',
  } as const
  const handover = 'overlap' as const
  return { name: '@example/roaming', version: '1.0.0', plugin, manifest: { ...manifest, handover, provides } }
}

let all: World
test.before(async () => {
  all = await world({ plugins: [roaming()] })
  await begun(all)
})
test.after(() => all.bed.stop())

const brief = ({ subject, from, to, reason, detail }: Row): string =>
  [subject, from, to, reason, detail].filter((text) => text !== '').join(' ')
async function movesOf(...subjects: readonly string[]): Promise<readonly string[]> {
  return (await all.rows('?kinds=sim')).filter(({ subject }) => subjects.includes(subject)).map(brief)
}

test('tells of each move of each SIM: issued, suspended, resumed, revoked, in bulk and imported', async () => {
  const [one = '', two = ''] = await all.issue({ count: 2, label: '=1+1' })
  await all.change('POST', `/v1/sims/${one}/suspend`)
  await all.change('POST', `/v1/sims/${one}/resume`)
  await all.change('POST', '/v1/sims/bulk', { action: 'suspend', ids: [one, two] })
  await all.change('POST', `/v1/sims/${two}/revoke`)
  const [ki, opc] = ['465b5ce8b199b49faa5f0a2ee238a6bc', 'cd63cb71954a9f4e48a5994e37a02baf']
  const imported = await all.bed.request('POST', '/v1/sims/import', {
    body: { sims: [{ imsi: '999990000004711', ki, opc }] },
  })
  const { results } = imported.body as { readonly results: readonly { readonly imsi_sha256_12: string }[] }
  const three = results[0]?.imsi_sha256_12 ?? ''
  assert.equal(await movesOf(one, two, three), [
    `${one} issued`,
    `${two} issued`,
    `${one} issued suspended operator`,
    `${one} suspended issued`,
    `${one} issued suspended operator`,
    `${two} issued suspended operator`,
    `${two} suspended revoked`,
    `${three} issued`,
  ])
  const file = await all.file()
  assert.not.ok(file.includes('999990000004711') || file.includes(ki))
})

test('tells which box has served a SIM of another one, since when and until when', async () => {
  const rows = await all.rows('?kinds=stay')
  assert.equal(
    rows.map(({ at, until, subject, by, detail }) => [at, until, subject, by, detail]),
    ['2026-01-01T13:00:00.000Z', ''].map((until, i) => [
      `2026-01-01T12:00:00.00${i}Z`,
      until,
      'aaaaaaaaaaaa',
      'node:22222222-2222-4222-8222-222222222222/harbour',
      '{"home":"11111111-1111-4111-8111-111111111111","home_name":"village"}',
    ]),
  )
})

test('records nothing of what was refused', async () => {
  const [hash = ''] = await all.issue()
  await all.change('POST', `/v1/sims/${hash}/revoke`)
  assert.is((await all.bed.request('POST', `/v1/sims/${hash}/suspend`)).status, 409)
  assert.equal(await movesOf(hash), [`${hash} issued`, `${hash} issued revoked`])
})

test('tells of changes of the policy, and of who has asked for files', async () => {
  await all.change('PUT', '/v1/policy', { sim_swap_cooldown_hours: 7 })
  const policy = (await all.rows('?kinds=policy')).at(-1)
  assert.is(policy?.detail, '["/sim_swap_cooldown_hours"]')
  const from = '2026-01-01T00:00:00.000Z'
  await all.file(`?kinds=policy,tx&from=${from}`)
  const last = (await all.rows('?kinds=export')).at(-2)
  const { kinds, from: begin } = JSON.parse(last?.detail ?? '{}')
  assert.equal([last?.reason, begin, kinds], ['ok', from, ['tx', 'policy']])
  const entries = await all.bed.audit()
  const entry = entries.find(({ seq }) => String(seq) === last?.id)
  assert.equal([entry?.action, entry?.target], ['compliance.export', all.bed.identity.nodeId])
})

test('names the document of the licence with its hash, refuses what is none, and serves it as a file', async () => {
  const { url, adminToken } = all.bed
  const path = '/v1/policy/license/documents'
  const send = (content: Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/pdf' },
      body: content,
    })
  await all.change('PUT', '/v1/policy', { spectrum: { license: { reference: 'BNetzA-1' } } })
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(700_000, 7)])
  assert.is((await send(Buffer.alloc(5 * 1024 * 1024 + 1, '%PDF-'))).status, 413)
  const { id, sha256 } = (await (await send(pdf)).json()) as { readonly id: string; readonly sha256: string }
  assert.is(sha256, hash('sha256', pdf))
  const [row, ...others] = await all.rows('?kinds=license')
  assert.equal([row?.id, row?.license_reference, row?.until, others], [id, 'BNetzA-1', '', []])
  assert.is(JSON.parse(row?.detail ?? '').sha256, sha256)
  const served = await fetch(`${url}${path}/${id}`, { headers: { authorization: `Bearer ${adminToken}` } })
  assert.ok(pdf.equals(Buffer.from(await served.arrayBuffer())))
  assert.equal(
    ['content-type', 'content-disposition', 'x-content-type-options'].map((name) => served.headers.get(name)),
    ['application/pdf', `attachment; filename="licence-${id}.pdf"`, 'nosniff'],
  )
  const entry = (await all.bed.audit()).find(({ action }) => action === 'policy.license_attach')
  assert.is(entry?.detail.sha256, sha256)
})

test('gives a span of time and the kinds that were asked for', async () => {
  const rows = await all.rows()
  const kinds = [...new Set(rows.map(({ kind }) => kind))]
  assert.equal(kinds, ['lifecycle', 'sim', 'policy', 'license', 'stay', 'export'])
  const sims = await all.rows('?kinds=sim')
  const middle = sims[3]?.at ?? ''
  const [before, after] = [
    await all.rows(`?kinds=sim&to=${middle}`),
    await all.rows(`?kinds=sim&from=${middle}`),
  ]
  assert.ok(before.every(({ at }) => at < middle) && after.every(({ at }) => at >= middle))
  assert.equal(
    [...before, ...after].map(({ id }) => id),
    sims.map(({ id }) => id),
  )
  assert.equal(await all.rows('?to=1970-01-02T00:00:00Z'), [])
  for (const wrong of [
    'kinds=sims',
    'kinds=',
    'from=today',
    'from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    'x=1',
  ])
    assert.is((await all.bed.request('GET', `/v1/compliance/export?${wrong}`)).status, 400, wrong)
})

test('is for operators', async () => {
  for (const [role, status] of [
    ['viewer', 403],
    ['sim:admin', 403],
    ['operator', 200],
  ] as const) {
    const token = all.bed.credential({ kind: 'token', id: `t-${role}`, roles: [role] })
    assert.is((await all.bed.request('GET', '/v1/compliance/export', { token })).status, status, role)
  }
})

test('finds at the next load what nobody has recorded', async () => {
  const [one = ''] = await all.issue()
  await all.bed.unload('compliance')
  assert.is((await all.bed.request('GET', '/v1/compliance/export')).status, 404)
  await all.change('POST', `/v1/sims/${one}/suspend`)
  const [two = ''] = await all.issue()
  await all.bed.load(all.own)
  await eventually(async () =>
    assert.equal(await movesOf(one, two), [
      `${one} issued`,
      ...[`${one} issued suspended operator found`, `${two} issued snapshot`].toSorted(),
    ]),
  )
  await all.change('POST', `/v1/sims/${one}/resume`)
  assert.is((await movesOf(one)).at(-1), `${one} suspended issued`)
})

test.run()
