import { X509Certificate } from 'node:crypto'
import { type CertificateHolders, isServiceError, operatorCertificatesRef } from '@steeple/contracts'
import { assert, codeOf, type FakeClock, suite, type Testbed, type TestResponse } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'
import { newKey, requestDer, requestPem } from './request-text.ts'

const certificates = suite('access/certificates over HTTP')
const DAY_MS = 86_400_000
let bed: Testbed
let clock: FakeClock

certificates.before(async () => {
  ;({ bed, clock } = await accessBed())
})
certificates.after(() => bed.stop())

interface Issued {
  readonly serial: string
  readonly certificate_pem: string
  readonly ca_pem: string
  readonly expires_at: string
}

async function userCalled(name: string, roles: readonly string[]): Promise<string> {
  const made = await bed.request('POST', '/v1/users', { body: { name, roles } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  return (made.body as { readonly id: string }).id
}

function ask(userId: string, more: object = {}, token = bed.adminToken): Promise<TestResponse> {
  const csr_pem = requestPem(requestDer(newKey(), undefined, 'root'))
  return bed.request('POST', `/v1/users/${userId}/certificates`, { token, body: { csr_pem, ...more } })
}

async function issued(userId: string, more: object = {}): Promise<Issued> {
  const answer = await ask(userId, more)
  assert.is(answer.status, 201, JSON.stringify(answer.body))
  return answer.body as Issued
}

/** The roles, or the code of the refusal, that the edge gets for a certificate. */
async function rolesBy({ serial, certificate_pem }: Issued, name: string): Promise<string> {
  // The testbed knows what this package provides.
  const holders = bed.service(operatorCertificatesRef) as CertificateHolders
  const notAfterMs = Date.parse(new X509Certificate(certificate_pem).validTo)
  try {
    const holder = await holders.holderOf({ serial, name, caSha256: bed.identity.caSha256, notAfterMs })
    return holder === undefined ? 'nobody' : [holder.kind, ...[...holder.roles].sort()].join(' ')
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}

certificates('is below the CA of the box, for the name of the user, whatever the request says', async () => {
  const id = await userCalled('zoe', ['operator'])
  const made = await issued(id, { label: 'laptop' })
  const certificate = new X509Certificate(made.certificate_pem)
  assert.ok(certificate.verify(new X509Certificate(made.ca_pem).publicKey))
  assert.is(certificate.subjectAltName, 'URI:svc://cli/zoe')
  assert.is(certificate.subject, 'CN=zoe')
  assert.not.ok(certificate.ca)
  assert.is(Date.parse(certificate.validTo), clock.nowMs() + 90 * DAY_MS)
  assert.is(await rolesBy(made, 'zoe'), 'cli operator viewer')
  const list = await bed.request('GET', `/v1/users/${id}/certificates`)
  const [shown] = (list.body as { readonly certificates: readonly Record<string, unknown>[] }).certificates
  assert.equal([shown?.serial, shown?.label, shown?.revoked_at], [made.serial, 'laptop', null])
})

certificates(
  'has the roles of the user at each request, and none when it is revoked or the user gone',
  async () => {
    const id = await userCalled('ivo', ['operator'])
    const [first, second] = [await issued(id), await issued(id)]
    await bed.request('POST', `/v1/users/${id}/roles`, { body: { roles: ['viewer'] } })
    assert.is(await rolesBy(first, 'ivo'), 'cli viewer')
    assert.is((await bed.request('DELETE', `/v1/users/${id}/certificates/${first.serial}`)).status, 204)
    assert.is(await rolesBy(first, 'ivo'), 'certificate_revoked')
    assert.is(await rolesBy(second, 'ivo'), 'cli viewer')
    assert.is((await bed.request('POST', `/v1/users/${id}/reset`)).status, 200)
    assert.is(await rolesBy(second, 'ivo'), 'certificate_revoked')
    const third = await issued(id)
    assert.is((await bed.request('DELETE', `/v1/users/${id}`)).status, 204)
    assert.is(await rolesBy(third, 'ivo'), 'certificate_revoked')
    assert.is(codeOf(await ask(id)), 'user_not_found')
  },
)

certificates('is not the key of another user of that name', async () => {
  const id = await userCalled('eve', ['viewer'])
  const made = await issued(id)
  await bed.request('DELETE', `/v1/users/${id}`)
  await userCalled('eve', ['admin'])
  assert.is(await rolesBy(made, 'eve'), 'certificate_revoked')
})

certificates('is given only by who has its roles and for no longer than may be', async () => {
  const id = await userCalled('ann', ['admin'])
  assert.is(codeOf(await ask(id, { expires_in: '398d' })), 'validation_failed')
  const minted = await bed.request('POST', '/v1/tokens', {
    body: { name: 'maker', roles: ['admin'], expires_in: '1h' },
  })
  const { token } = minted.body as { readonly token: string }
  assert.is(codeOf(await ask(id, { expires_in: '2h' }, token)), 'validation_failed')
  const bound = (await ask(id, {}, token)).body as Issued
  assert.is(Date.parse(bound.expires_at), clock.nowMs() + 3_600_000)
  const weak = await bed.request('POST', '/v1/tokens', { body: { name: 'op', roles: ['operator'] } })
  const operator = (weak.body as { readonly token: string }).token
  assert.is((await ask(id, {}, operator)).status, 403)
})

certificates('is refused for a request that does not hold', async () => {
  const id = await userCalled('bob', ['viewer'])
  const forged = requestPem(requestDer(newKey(), newKey()))
  for (const csr_pem of [
    forged,
    requestPem(requestDer(newKey('P-384'))),
    'x',
    `${forged}${'x'.repeat(5_000)}`,
  ]) {
    const refused = await bed.request('POST', `/v1/users/${id}/certificates`, { body: { csr_pem } })
    assert.equal([refused.status, codeOf(refused)], [400, 'validation_failed'])
  }
})

certificates('is not revoked by the path of another user', async () => {
  const [one, other] = [await userCalled('one', ['viewer']), await userCalled('other', ['viewer'])]
  const made = await issued(one)
  const path = `/v1/users/${other}/certificates/${made.serial}`
  assert.is(codeOf(await bed.request('DELETE', path)), 'certificate_not_found')
  assert.is(await rolesBy(made, 'one'), 'cli viewer')
})

certificates.run()
