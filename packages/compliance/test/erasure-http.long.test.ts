import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Imsi, simIssuerRef } from '@steeple/contracts'
import { assert, driverPlugin, eventually, type FakeHss, fakeCore, fakeHss, suite } from '@steeple/testkit'
import { begun, type World, world } from './support/world.ts'

const test = suite('what an erasure waits for')

const IMSI = '999990000004711' as Imsi
const KEYS = { ki: '465b5ce8b199b49faa5f0a2ee238a6bc', opc: 'cd63cb71954a9f4e48a5994e37a02baf' }
let all: World
let hss: FakeHss
const core = fakeCore()

test.before(async () => {
  hss = fakeHss()
  all = await world({
    more: ['collectors', 'fair-use'],
    plugins: [driverPlugin('hss', hss), driverPlugin('core', core)],
    hss: 'fake',
    config: { fairuse: { enabled: true }, sims: { attach_interval: '100ms' } },
  })
  await begun(all)
})
test.after(() => all.bed.stop())
test.after.each(() => {
  hss.isDown = false
})

interface Erasure {
  readonly imsi_sha256_12: string
  readonly asked_by: string
  readonly waits_for: string | null
}
interface Sim {
  readonly state: string
  readonly label: string | null
  readonly msisdn: string | null
  readonly iccid_last4: string | null
  readonly batch_id: string | null
  readonly quota_bytes: number | null
  readonly provisioning: { readonly status: string }
}

const sim = async (hash: string): Promise<Sim> =>
  (await all.bed.request('GET', `/v1/sims/${hash}`)).body as Sim
async function forget(hash: string, body: object = {}): Promise<{ status: number; body: object }> {
  const { status, body: answer } = await all.bed.request('POST', `/v1/sims/${hash}/forget`, { body })
  return { status, body: answer as object }
}
async function waiting(query = ''): Promise<{ erasures: readonly Erasure[]; next_cursor: string | null }> {
  const { status, body } = await all.bed.request('GET', `/v1/compliance/erasures${query}`)
  assert.is(status, 200, JSON.stringify(body))
  return body as Awaited<ReturnType<typeof waiting>>
}
/** Issues SIMs and waits until the HSS holds them. */
async function held(body: object): Promise<readonly string[]> {
  const hashes = await all.issue(body)
  for (const hash of hashes)
    await eventually(async () => assert.is((await sim(hash)).provisioning.status, 'synced'))
  return hashes
}
const isGone = (hash: string): Promise<void> =>
  eventually(async () => assert.is((await all.bed.request('GET', `/v1/sims/${hash}`)).status, 404))
async function imported(number: number, label: string): Promise<{ hash: string; imsi: Imsi }> {
  const imsi = String(Number(IMSI) + number) as Imsi
  const row = { imsi, ...KEYS, label, msisdn: '4915112345678' }
  const answer = await all.bed.request('POST', '/v1/sims/import', { body: { sims: [row] } })
  const { results } = answer.body as { readonly results: readonly { readonly imsi_sha256_12: string }[] }
  const hash = results[0]?.imsi_sha256_12 ?? ''
  await eventually(() => assert.ok(hss.held.has(imsi)))
  return { hash, imsi }
}

test('all but the IMSI goes at once while the HSS is away, and that when it is back', async () => {
  const { hash, imsi } = await imported(1, 'ann of the mill')
  await all.change('POST', `/v1/sims/${hash}/quota`, { quota_bytes: 1_000 })
  await all.change('POST', `/v1/sims/${hash}/revoke?wait=1ms`)
  await eventually(async () => assert.not.ok(hss.held.has(imsi)))
  const second = await imported(2, 'bob of the mill')
  await all.change('POST', `/v1/sims/${second.hash}/quota`, { quota_bytes: 1_000 })
  hss.isDown = true
  const asked = await forget(second.hash)
  assert.is(asked.status, 202)
  const { state, label, msisdn, iccid_last4, batch_id } = await sim(second.hash)
  assert.equal([state, label, msisdn, iccid_last4, batch_id], ['revoked', null, null, null, null])
  const found = await all.bed.request('GET', '/v1/sims?q=bob')
  assert.equal((found.body as { readonly sims: readonly object[] }).sims, [])
  await eventually(async () => assert.is((await sim(second.hash)).quota_bytes, null, 'fair use has heard'))
  await eventually(async () => {
    const { erasures } = await waiting()
    assert.equal(
      erasures.map(({ imsi_sha256_12, waits_for }) => [imsi_sha256_12, waits_for]),
      [[second.hash, 'the database is away']],
    )
  })
  // A SIM that the HSS has let go before waits for nobody.
  assert.is((await forget(hash)).status, 202)
  await isGone(hash)
  hss.isDown = false
  await isGone(second.hash)
  assert.not.ok(hss.held.has(second.imsi))
  assert.equal((await waiting()).erasures, [])
})

test('who looks at, imports or labels one that waits harms nobody, and it goes all the same', async () => {
  const { hash, imsi } = await imported(7, 'hans')
  hss.isDown = true
  assert.is((await forget(hash)).status, 202)
  const why = await all.bed.request('GET', `/v1/sims/${hash}/diagnosis`)
  assert.is(why.status, 200, JSON.stringify(why.body))
  const again = await all.bed.request('POST', '/v1/sims/import', {
    body: { sims: [{ imsi, ...KEYS, label: 'hans again' }] },
  })
  assert.is(again.status, 200, JSON.stringify(again.body))
  await all.change('POST', `/v1/sims/${hash}/label`, { label: 'hans of the hill' })
  hss.isDown = false
  await isGone(hash)
  for (const word of ['hans', 'hill']) {
    const found = await all.bed.request('GET', `/v1/sims?q=${word}`)
    assert.equal((found.body as { readonly sims: readonly object[] }).sims, [], word)
  }
  // The card may be given to somebody else, who begins anew.
  assert.is((await imported(7, 'ina')).hash, hash)
  assert.is((await sim(hash)).state, 'issued')
})

test('one that is asked for twice is one', async () => {
  const { hash } = await imported(3, 'carl')
  hss.isDown = true
  for (let time = 0; time < 2; time++) assert.is((await forget(hash)).status, 202)
  assert.is((await waiting()).erasures.length, 1)
  hss.isDown = false
  await isGone(hash)
  const moves = (await all.rows('?kinds=sim')).filter(({ subject }) => subject === hash)
  assert.equal(
    moves.map(({ to }) => to),
    ['issued', 'revoked', 'erased'],
  )
})

test('a core that is gone for good is waited for no more, but not while the SIM is in use', async () => {
  const { hash, imsi } = await imported(4, 'dora')
  core.attached.add(imsi)
  await eventually(async () => assert.is((await sim(hash)).state, 'in-use'))
  hss.isDown = true
  for (const body of [{}, { without_core: true }, { without_core: true, revoke: true }])
    assert.is((await forget(hash, body)).status, 409, JSON.stringify(body))
  assert.is((await forget(hash, { revoke: true })).status, 202)
  assert.equal((await forget(hash, { without_core: true })).body, {
    imsi_sha256_12: hash,
    status: 'erased',
    waits_for: null,
  })
  assert.is((await all.bed.request('GET', `/v1/sims/${hash}`)).status, 404)
  assert.equal((await waiting()).erasures, [])
  assert.is((await forget(hash, { without_core: true })).status, 404)
  const [entry] = (await all.bed.audit()).filter(
    ({ target, outcome, detail }) => target === hash && outcome === 'ok' && detail.without_core === true,
  )
  assert.is(entry?.action, 'sim.forget')
  const moves = (await all.rows('?kinds=sim')).filter(({ subject }) => subject === hash)
  assert.is(moves.at(-1)?.to, 'erased')
  // The HSS still has it: nobody could tell it.
  assert.ok(hss.held.has(imsi))
  core.attached.delete(imsi)
})

test('revokes one in use first, and its phone is off before it goes', async () => {
  const { hash, imsi } = await imported(5, 'emil')
  core.attached.add(imsi)
  await eventually(async () => assert.is((await sim(hash)).state, 'in-use'))
  assert.is((await forget(hash)).status, 409)
  assert.is((await forget(hash, { revoke: true })).status, 202)
  await isGone(hash)
  assert.not.ok(core.attached.has(imsi))
  assert.not.ok(hss.held.has(imsi))
})

test('a batch keeps a label as long as another SIM has it', async () => {
  const [one = '', two = ''] = await held({ count: 2, label: 'fritz and his sister' })
  const id = (await sim(one)).batch_id ?? ''
  const labelOf = (): unknown => {
    const store = new DatabaseSync(join(all.bed.dataDir, 'svc.db'), { readOnly: true })
    try {
      return store.prepare('select label from sims_batch where id = ?').get(id)?.label
    } finally {
      store.close()
    }
  }
  const isLeft = (hashes: readonly string[], label: string | null): Promise<void> =>
    eventually(async () => {
      const left = (await all.bed.service(simIssuerRef)?.batch(id, '', 10)) ?? []
      assert.equal([left.map(({ imsi }) => String(imsi)), labelOf()], [hashes, label])
    })
  await forget(one)
  await isLeft([two], 'fritz and his sister')
  await forget(two)
  await isLeft([], null)
  for (const hash of [one, two]) await isGone(hash)
})

test('lists what is outstanding by pages, for operators', async () => {
  const hashes = await held({ count: 3 })
  hss.isDown = true
  for (const hash of hashes) assert.is((await forget(hash)).status, 202)
  const first = await waiting('?limit=2')
  const second = await waiting(`?limit=2&cursor=${first.next_cursor}`)
  assert.equal(
    [...first.erasures, ...second.erasures].map(({ imsi_sha256_12 }) => imsi_sha256_12),
    hashes.toSorted(),
  )
  assert.is(second.next_cursor, null)
  for (const [role, status] of [
    ['viewer', 403],
    ['operator', 200],
  ] as const) {
    const token = all.bed.credential({ kind: 'token', id: `t-${role}`, roles: [role] })
    assert.is((await all.bed.request('GET', '/v1/compliance/erasures', { token })).status, status, role)
  }
  hss.isDown = false
  for (const hash of hashes) await isGone(hash)
})

test('a core that was taken out is waited for no more', async () => {
  const { hash, imsi } = await imported(6, 'greta')
  core.attached.add(imsi)
  await eventually(async () => assert.is((await sim(hash)).state, 'in-use'))
  core.kick = async () => {
    throw new Error('nobody answers')
  }
  assert.is((await forget(hash, { revoke: true })).status, 202)
  await eventually(async () => {
    const { erasures } = await waiting()
    assert.equal(
      erasures.map(({ imsi_sha256_12, waits_for }) => [imsi_sha256_12, waits_for]),
      [[hash, 'the core did not say whether the session is gone']],
    )
  })
  await all.bed.unload('fake-core')
  await isGone(hash)
  assert.equal((await waiting()).erasures, [])
})

test.run()
