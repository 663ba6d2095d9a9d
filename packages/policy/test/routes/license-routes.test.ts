import { createHash, randomFillSync } from 'node:crypto'
import type { PolicyHistory } from '@steeple/contracts'
import { policyHistoryRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { OPEN_POLICY, openWorld, type World, world } from '../support/world.ts'

const routes = suite('policy/license-routes')

const PATH = '/v1/policy/license/documents'
/** A file of each kind, more than one row holds. */
const file = (magic: string | Buffer, size = 600_000): Buffer => {
  const start = Buffer.from(magic)
  return Buffer.concat([start, randomFillSync(Buffer.alloc(size - start.length))])
}
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const attach = (here: World, content?: Uint8Array) => here.call('POST', PATH, content)
const list = async (here: World): Promise<readonly Record<string, unknown>[]> =>
  (await here.call('GET', PATH)).body.documents as readonly Record<string, unknown>[]
const setReference = (here: World, reference: string | null) =>
  here.call('PUT', '/v1/policy', { spectrum: { license: { reference } } })
const pieces = async (here: World): Promise<number> =>
  Number((await here.db.get<{ n: number }>('select count(*) as n from policy_license_content'))?.n)
/** Puts a TX interval under the licence into the record. */
async function onceArmed(here: World): Promise<void> {
  assert.is((await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })).status, 200)
  assert.is((await here.call('POST', '/v1/tx/disarm')).status, 200)
}
function historyOf(here: World): PolicyHistory {
  return here.instance.services?.get(policyHistoryRef.id) as PolicyHistory
}

routes('keeps a PDF, PNG or JPEG with the licence, and gives it back as a file to be saved', async () => {
  const here = await openWorld()
  for (const [magic, type, ending] of [
    ['%PDF-1.7', 'application/pdf', 'pdf'],
    [PNG, 'image/png', 'png'],
    [Buffer.from('ffd8ffe0', 'hex'), 'image/jpeg', 'jpg'],
  ] as const) {
    const content = file(magic)
    const { status, body } = await attach(here, content)
    assert.equal(
      [status, body.media_type, body.bytes, body.sha256, body.license_reference, body.ended_at],
      [200, type, content.length, createHash('sha256').update(content).digest('hex'), 'BNetzA-1', null],
    )
    const { octets, headers } = await here.call('GET', `${PATH}/${body.id}`)
    assert.ok(octets?.equals(content))
    assert.equal(
      [headers['content-type'], headers['content-disposition']],
      [type, `attachment; filename="licence-${body.id}.${ending}"`],
    )
  }
  assert.equal((await list(here)).length, 1, 'each replaces the one before')
  await here.close()
})

routes('refuses what is none of these, and a licence without a reference', async () => {
  const here = await openWorld()
  for (const content of [undefined, Buffer.from('<html>'), Buffer.from(' %PDF-1.7'), PNG.subarray(0, 7)])
    assert.is((await attach(here, content)).error, 'validation_failed')
  await setReference(here, null)
  assert.is((await attach(here, file(PNG))).error, 'invalid_transition')
  assert.equal([await list(here), await pieces(here)], [[], 0])
  await here.close()
})

routes('removes one that nothing was sent under, with its content, and says so in the trail', async () => {
  const here = await openWorld()
  const { body } = await attach(here, file(PNG))
  assert.is((await here.call('DELETE', `${PATH}/${body.id}`)).status, 204)
  assert.equal([await list(here), await pieces(here)], [[], 0])
  assert.is((await here.call('GET', `${PATH}/${body.id}`)).error, 'not_found')
  assert.is((await here.call('DELETE', `${PATH}/${body.id}`)).error, 'not_found')
  await here.close()
})

routes('keeps an ended one while the record has a TX interval under its licence', async () => {
  const here = await openWorld()
  const [old, next] = [file('%PDF-1.4'), file('%PDF-1.5')]
  const first = (await attach(here, old)).body
  await onceArmed(here)
  const second = (await attach(here, next)).body
  assert.is((await here.call('DELETE', `${PATH}/${first.id}`)).error, 'invalid_transition')
  assert.is((await here.call('DELETE', `${PATH}/${second.id}`)).status, 204)
  const kept = await list(here)
  assert.equal(
    kept.map(({ id, ended_at }) => [id, ended_at !== null]).toSorted(),
    [first.id, second.id].map((id) => [id, true]).toSorted(),
  )
  assert.ok((await here.call('GET', `${PATH}/${first.id}`)).octets?.equals(old))
  const history = historyOf(here)
  const span = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
  assert.equal(
    (await history.documents(span)).map(({ sha256 }) => sha256).toSorted(),
    [first.sha256, second.sha256].toSorted(),
  )
  assert.equal(await history.documents({ fromMs: 0, toMs: 1 }), [])
  // Retention takes the interval, and with it what nothing needs any more.
  await here.db.write((tx) => history.takeIntervals(tx, Number.MAX_SAFE_INTEGER, 100))
  assert.equal([await list(here), await pieces(here)], [[], 0])
  await here.close()
})

routes('belongs to the licence that it was attached to, also when the reference changes', async () => {
  const here = await openWorld()
  const { body } = await attach(here, file(PNG))
  await setReference(here, 'BNetzA-2')
  const [kept] = await list(here)
  assert.equal(
    [kept?.id, kept?.license_reference, kept?.ended_by],
    [body.id, 'BNetzA-1', 'token:tok-1/alice'],
  )
  const second = await attach(here, file(PNG))
  assert.is(second.body.license_reference, 'BNetzA-2')
  await here.call('PUT', '/v1/policy', OPEN_POLICY)
  assert.ok((await list(here)).every(({ ended_at }) => ended_at !== null))
  await here.close()
})

routes('keeps no more than a box has licences for', async () => {
  const here = await world()
  await here.call('PUT', '/v1/policy', OPEN_POLICY)
  for (let at = 0; at < 20; at++) {
    await setReference(here, `L-${at}`)
    assert.is((await attach(here, file(PNG, 100))).status, 200)
  }
  await setReference(here, 'L-20')
  const refused = await attach(here, file(PNG, 100))
  assert.equal([refused.error, (await list(here)).length], ['invalid_transition', 20])
  await here.close()
})

routes.run()
