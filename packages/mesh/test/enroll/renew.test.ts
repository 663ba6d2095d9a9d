import { createPrivateKey, sign } from 'node:crypto'
import { assert, bodyOf, codeOf, eventually, suite, type TestResponse } from '@steeple/testkit'
import { renewalPurpose } from '../../src/shapes.ts'
import { csrOf } from '../support/requests.ts'
import { type Box, type Enrolled, type RootBed, rootBed } from '../support/root-bed.ts'

const DAY_MS = 86_400_000
const renewal = suite('mesh/renew')
let root: RootBed
renewal.before(async () => {
  root = await rootBed()
})
renewal.after(() => root.close())

async function nonce(): Promise<string> {
  return bodyOf<{ readonly nonce: string }>(
    await root.bed.request('GET', '/v1/mesh/challenge', { token: false }),
  ).nonce
}

/** What a box sends whose certificate has expired. */
async function renew(
  box: Box,
  certificatePem: string,
  more: { readonly nonce?: string; readonly csr?: string; readonly keyPem?: string } = {},
): Promise<TestResponse> {
  const used = more.nonce ?? (await nonce())
  const csr = more.csr ?? box.csr
  const key = createPrivateKey(more.keyPem ?? box.keyPem)
  return await root.bed.request('POST', '/v1/mesh/renew', {
    token: false,
    body: {
      certificate_pem: certificatePem,
      csr_pem: csr,
      nonce: used,
      signature: sign('sha256', renewalPurpose(used, csr), key).toString('base64'),
    },
  })
}

renewal('renews a certificate that has expired while the root was away', async () => {
  const box = await root.box()
  const first = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  await root.later(45 * DAY_MS)
  const used = await nonce()
  const renewed = bodyOf<Enrolled>(await renew(box, first.certificate_pem, { nonce: used }))
  assert.is.not(renewed.certificate_pem, first.certificate_pem)
  assert.is(renewed.overlay_address, first.overlay_address)
  assert.is(Date.parse(renewed.expires_at), root.clock.nowMs() + 30 * DAY_MS)
  assert.is(
    codeOf(await renew(box, first.certificate_pem, { nonce: used })),
    'unauthenticated',
    'a nonce is good once',
  )
  assert.equal(
    bodyOf(await renew(box, first.certificate_pem)),
    renewed,
    'and the same again while it is young',
  )
  const entry = (await root.bed.audit()).find(({ action }) => action === 'node.enroll')
  assert.equal([entry?.principal.kind, entry?.principal.id], ['node', box.id])
})

renewal('takes nobody for another', async () => {
  const [box, thief] = [await root.box(), await root.box()]
  const own = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  const theirs = bodyOf<Enrolled>(await root.enroll(thief, root.token()))
  const refused: readonly (readonly [string, TestResponse])[] = [
    ['signed by another key', await renew(box, own.certificate_pem, { keyPem: thief.keyPem })],
    ['a request of another', await renew(thief, theirs.certificate_pem, { csr: box.csr })],
    [
      'a nonce of nobody',
      await renew(box, own.certificate_pem, { nonce: Buffer.alloc(56, 7).toString('base64url') }),
    ],
    ['the CA for a certificate', await renew(box, own.ca_pem)],
    ['no certificate', await renew(box, 'none')],
  ]
  for (const [what, answer] of refused) {
    assert.ok(answer.status === 401 || answer.status === 409, `${what}: ${answer.status}`)
  }
})

renewal('renews nothing that is revoked, however it asks', async () => {
  const box = await root.box()
  const { certificate_pem } = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  bodyOf(await root.bed.request('POST', `/v1/nodes/${box.id}/leave`, { body: {} }))
  assert.is(codeOf(await renew(box, certificate_pem)), 'certificate_revoked')
  const csr = csrOf(box.keyPem)
  assert.is(codeOf(await renew(box, certificate_pem, { csr })), 'certificate_revoked')
})

renewal('audits what it refuses, ten of a minute one by one and the rest in sum', async () => {
  await root.clock.advance(60_000)
  const before = (await root.bed.audit()).length
  const send = (body: object) => root.bed.request('POST', '/v1/mesh/renew', { token: false, body })
  const misfit = { certificate_pem: 'none', csr_pem: 'none', nonce: 'none', signature: 'none' }
  for (let count = 0; count < 15; count += 1) {
    assert.is(codeOf(await send(misfit)), 'unauthenticated')
    assert.is(codeOf(await send({ ...misfit, nonce: 7 })), 'validation_failed')
    assert.is(codeOf(await send({ ...misfit, nonce: 'x'.repeat(40_000) })), 'body_too_large')
  }
  const since = async () => (await root.bed.audit()).slice(0, -before)
  const own = (await since()).filter(({ action }) => action === 'node.enroll')
  assert.is(own.length, 10)
  assert.ok(own.every(({ target, outcome }) => target === 'mesh' && outcome !== 'ok'))
  assert.equal(
    new Set(own.map(({ detail }) => detail.error)),
    new Set(['unauthenticated', 'validation_failed', 'body_too_large']),
  )
  await root.clock.advance(70_000)
  await eventually(async () => {
    const sum = (await since()).find(({ action }) => action === 'node.enroll.refuse')
    assert.equal(sum?.detail, { refused: 35, at: 'renew' })
  })
})

renewal('forgets a nonce after a minute', async () => {
  const box = await root.box()
  const { certificate_pem } = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  const old = await nonce()
  await root.clock.advance(61_000)
  assert.is(codeOf(await renew(box, certificate_pem, { nonce: old })), 'unauthenticated')
})

renewal.run()
