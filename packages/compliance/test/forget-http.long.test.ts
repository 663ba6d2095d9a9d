import { simIssuerRef } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { begun, type World, world } from './support/world.ts'

const test = suite('an erasure over HTTP')

let all: World
test.before(async () => {
  all = await world()
  await begun(all)
})
test.after(() => all.bed.stop())

async function forget(hash: string, body?: object): Promise<number> {
  return (await all.bed.request('POST', `/v1/sims/${hash}/forget`, body === undefined ? {} : { body })).status
}
async function isGone(hash: string): Promise<void> {
  await eventually(async () =>
    assert.is((await all.bed.request('GET', `/v1/sims/${hash}`)).status, 404, 'it is still there'),
  )
}

test('revokes a SIM that was never used, and leaves its hash in the trail alone', async () => {
  const [hash = '', other = ''] = await all.issue({ count: 2, label: 'ann of the hill' })
  const record = (await all.bed.request('GET', `/v1/sims/${hash}`)).body as { readonly batch_id: string }
  assert.is(await forget(hash, { reason: 'request 12' }), 202)
  await isGone(hash)
  assert.is((await all.bed.request('GET', `/v1/sims/${other}`)).status, 200)
  const found = (await all.bed.request('GET', '/v1/sims?q=hill')).body as { readonly sims: readonly object[] }
  assert.is(found.sims.length, 1, 'the words of the other one')
  const left = await all.bed.service(simIssuerRef)?.batch(record.batch_id, '', 10)
  assert.equal(
    left?.map(({ imsi }) => String(imsi)),
    [other],
  )
  const moves = (await all.rows('?kinds=sim')).filter(({ subject }) => subject === hash)
  assert.equal(
    moves.map(({ from, to, detail }) => [from, to, detail]),
    [
      ['', 'issued', ''],
      ['issued', 'revoked', ''],
      ['revoked', 'erased', 'erased'],
    ],
  )
  const actions = (await all.bed.audit()).filter(({ target }) => target === hash).map(({ action }) => action)
  assert.equal(actions, ['sim.erase', 'sim.forget'])
  assert.is(await forget(hash), 404)
})

test('the whole batch can go', async () => {
  const hashes = await all.issue({ count: 2 })
  const record = (await all.bed.request('GET', `/v1/sims/${hashes[0]}`)).body as { readonly batch_id: string }
  for (const hash of hashes) assert.is(await forget(hash), 202)
  for (const hash of hashes) await isGone(hash)
  assert.equal(await all.bed.service(simIssuerRef)?.batch(record.batch_id, '', 10), [])
})

test('takes a revoked SIM, and is for admins', async () => {
  const [hash = ''] = await all.issue()
  await all.change('POST', `/v1/sims/${hash}/revoke`)
  for (const role of ['viewer', 'operator', 'sim:admin'] as const) {
    const token = all.bed.credential({ kind: 'token', id: `t-${role}`, roles: [role] })
    const { status } = await all.bed.request('POST', `/v1/sims/${hash}/forget`, { token })
    assert.is(status, 403, role)
  }
  assert.is(await forget(hash), 202)
  await isGone(hash)
})

test('refuses what names no SIM', async () => {
  assert.is(await forget('ffffffffffff'), 404)
  assert.is(await forget('999990000004711'), 400)
  const [hash = ''] = await all.issue()
  assert.is(await forget(hash, { revoke: 'yes' }), 400)
  assert.is(await forget(hash, { why: 'x' }), 400)
})

test.run()
