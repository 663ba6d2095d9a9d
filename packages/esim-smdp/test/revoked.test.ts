import { createPublicKey } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { checkEuiccChain, issueRevocationList, newKey, readCertificate } from '@steeple/sgp22'
import { assert, codeOf, eventually, suite, tempDir } from '@steeple/testkit'
import { pemOf } from '../src/certs/held.ts'
import { SESSIONS } from '../src/store/rows.ts'
import { type CertBed, certBed } from './support/cert-bed.ts'

import { authenticated, good, handset } from './support/handset.ts'
import { eidOf, pki } from './support/pki.ts'
import { ADDRESS, world } from './support/world.ts'

const revoked = suite('esim-smdp/revoked')
const REVOKE = '/v1/esim/certs/revoke'
const TIMES = { number: 1, thisUpdateMs: Date.UTC(2026, 0, 1), nextUpdateMs: Date.UTC(2026, 1, 1) }

async function withBed(work: (all: CertBed) => Promise<void>, certsDir = ''): Promise<void> {
  const all = await certBed({ config: { certs_dir: certsDir } })
  try {
    await work(all)
  } finally {
    await all.bed.stop()
  }
}
const base64 = (octets: Uint8Array): string => Buffer.from(octets).toString('base64')
const pemOfKey = (key: { export(options: object): string | Buffer }): string =>
  String(key.export({ type: 'pkcs8', format: 'pem' }))

revoked('delivers nothing to eUICCs of an EUM, nor to an eUICC, that was taken back', async () => {
  await using all = await world()
  const serialOf = (der: Uint8Array): string => readCertificate(der).serial
  for (const [which, code] of [
    ['eumDer', '8.1.2/6.1'],
    ['euiccDer', '8.1.3/6.1'],
  ] as const) {
    const phone = handset(all.euicc(1), ADDRESS)
    const { matchingId, token } = await all.issue(which === 'eumDer' ? 1 : 2)
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    const serial = serialOf(all.chain(1)[which])
    all.revoked.add(serial)
    const request = phone.authenticate(first, matchingId)
    assert.is((await all.call('authenticateClient', request)).code, code)
    assert.is((await all.row({ token })).attempts, 0)
    // Its certificate was verified a moment before: what is remembered of that is no way around.
    all.revoked.delete(serial)
    assert.is((await all.call('authenticateClient', request)).code, 'ok')
  }
  all.revoked.add(serialOf(all.chain(1).euiccDer))
  await authenticated(all, handset(all.euicc(3), ADDRESS), (await all.issue(3)).matchingId)
})

revoked('takes a maker of eUICCs of a lab back, and believes it again when that was a mistake', () =>
  withBed(async ({ bed, certs, context }) => {
    await bed.request('POST', '/v1/esim/certs/init', {
      body: { host: 'smdp.example.org', curves: ['P-256'] },
    })
    const key = createPublicKey(newKey('P-256')).export({ format: 'der', type: 'spki' })
    const sign = () => bed.request('POST', '/v1/esim/certs/lab-eum', { body: { public_keys: [base64(key)] } })
    const [first, second] = [await sign(), await sign()]
    assert.equal(second.body, first.body, 'the same key has the same certificate')
    const eums = () =>
      certs()
        .all()
        .filter(({ row }) => row.role === 'eum')
    const id = eums()[0]?.row.id ?? ''
    assert.is(eums().length, 1)
    const serial = eums()[0]?.certificate.serial ?? ''
    const removed = await bed.request('DELETE', `/v1/esim/certs/${id}`)
    assert.equal([removed.status, codeOf(removed)], [409, 'esim_cert_conflict'])
    await context().db.write(async (tx) => {
      for (const step of ['initiated', 'authenticated', 'delivered'] as const)
        await SESSIONS.insert(tx, { ...SESSION, tid: step, step })
    })
    const answer = await bed.request('POST', REVOKE, { body: { id } })
    assert.equal([answer.status, (answer.body as { revoked: boolean }).revoked], [200, true])
    const left = await SESSIONS.select(context().db, 'order by tid')
    assert.equal(
      left.map(({ step }) => step),
      ['delivered'],
      'downloads under way end',
    )
    const listed = (await bed.request('GET', `/v1/esim/certs/${id}`)).body as { revoked: boolean }
    assert.is(listed.revoked, true)
    assert.ok(eums().every(({ certificate }) => certs().isRevoked(certificate)))
    assert.is((await bed.request('POST', REVOKE, { body: { id, restore: true } })).status, 200)
    assert.not.ok(eums().some(({ certificate }) => certs().isRevoked(certificate)))
    // By what is in the certificate, too, whatever zeros are in front of its number.
    const { issuer } = answer.body as { issuer: string }
    const named = { issuer: issuer.toUpperCase(), serial: `00${serial}` }
    assert.is((await bed.request('POST', REVOKE, { body: named })).status, 200)
    assert.ok(eums().every(({ certificate }) => certs().isRevoked(certificate)))
    const fresh = (await sign()).body
    assert.not.equal(fresh, first.body, 'another certificate, which is signed for by an administrator')
    assert.is((await bed.request('DELETE', `/v1/esim/certs/${id}`)).status, 204)
    const ci = certs()
      .all()
      .find(({ row }) => row.role === 'ci')?.row.id
    for (const body of [{}, { id, serial }, { issuer }, { id: 'x' }])
      assert.is((await bed.request('POST', REVOKE, { body })).status, 400)
    assert.is((await bed.request('POST', REVOKE, { body: { id } })).status, 404)
    assert.is((await bed.request('POST', REVOKE, { body: { id: ci } })).status, 409)
    const trail = (await bed.audit()).filter(({ action }) => action === 'esim_cert.revoke')
    assert.ok(trail.some(({ detail }) => JSON.stringify(detail).includes(serial)))
  }),
)

revoked('takes revocation lists of a CI: eUICCs below it, and its own certificates', () =>
  withBed(async ({ bed, certs }) => {
    const { ci, identity, chain, eum } = pki('P-256')
    const other = pki('P-256')
    const list = (serials: readonly string[], of = ci): object => ({
      name: 'x.crl',
      base64: base64(issueRevocationList(of, { ...TIMES, serials })),
    })
    const imported = (...files: readonly object[]) =>
      bed.request('POST', '/v1/esim/certs/import', { body: { files } })
    const unknown = await imported(list([]))
    assert.is(unknown.status, 400)
    assert.match(JSON.stringify(unknown.body), /no CERT\.CI with it is here/)
    const files = [ci.certificate.raw, identity.auth.der, identity.pb.der].map((der, i) => ({
      name: `${i}.pem`,
      pem: `${pemOf(der)}${i === 0 ? '' : pemOfKey(i === 1 ? identity.auth.key : identity.pb.key)}`,
    }))
    assert.is((await imported(...files)).status, 200)
    assert.is(certs().identities().length, 1)
    const forged = { ...ci, key: other.ci.key }
    assert.match(JSON.stringify((await imported(list([], forged))).body), /not signed by the CERT\.CI/)
    const answer = await imported(list([eum.certificate.serial, '0102']))
    assert.equal([answer.status, (answer.body as { revoked: number }).revoked], [200, 2])
    const { eumDer, euiccDer } = chain(eidOf(1))
    const checked = checkEuiccChain({
      ...{ ci: ci.certificate.raw, eum: eumDer, euicc: euiccDer },
      ...{ nowMs: Date.UTC(2026, 5, 1), isRevoked: certs().isRevoked },
    })
    assert.is('code' in checked && checked.code, '8.1.2/6.1')
    assert.is(((await imported(list([]))).body as { revoked: number }).revoked, 0)
    assert.ok(certs().isRevoked(eum.certificate), 'what is off a later list is still revoked')
    const body = { issuer: ci.certificate.subjectKeyId, serial: eum.certificate.serial, restore: true }
    assert.is((await bed.request('POST', REVOKE, { body })).status, 409)
    const pem = `-----BEGIN X509 CRL-----\n${base64(
      issueRevocationList(ci, { ...TIMES, serials: [readCertificate(identity.auth.der).serial] }),
    )}\n-----END X509 CRL-----\n`
    assert.is(certs().identitiesHeld().length, 1)
    assert.is((await imported({ name: 'crl.pem', pem })).status, 200)
    assert.equal(certs().identitiesHeld(), [])
    assert.is(
      certs().identities().length,
      0,
      'nothing is signed with a certificate that phones will not believe',
    )
  }),
)

revoked('takes lists from the folder, and writes nothing when they say nothing new', async () => {
  const { ci, eum } = pki('P-256')
  await using dir = await tempDir()
  await writeFile(`${dir.path}/ci.der`, ci.certificate.raw)
  const serials = [eum.certificate.serial]
  await writeFile(`${dir.path}/one.crl`, issueRevocationList(ci, { ...TIMES, serials }))
  await withBed(async ({ bed, certs, changed }) => {
    assert.ok(certs().isRevoked(eum.certificate))
    const imports = async (): Promise<number> =>
      (await bed.audit()).filter(({ action }) => action === 'esim_cert.import').length
    changed()
    // Something new shows that the folder was looked into again, behind the look that found nothing.
    const other = pki('brainpoolP256r1').ci.certificate
    await writeFile(`${dir.path}/other.der`, other.raw)
    changed()
    const isThere = (): boolean =>
      certs()
        .all()
        .some(({ certificate }) => certificate.serial === other.serial)
    await eventually(() => assert.ok(isThere()))
    assert.is(await imports(), 2)
  }, dir.path)
})

const SESSION = {
  ...{ ci_pkid: '00', peer: '', svn: new Uint8Array(3), identity: 'x', token: null, eid_hash: null },
  ...{ euicc_challenge: new Uint8Array(16), server_challenge: new Uint8Array(16), eid_sealed: null },
  ...{ euicc_key: null, signature2: null, created_at_ms: 1, expires_at_ms: 9e12 },
}

revoked.run()
