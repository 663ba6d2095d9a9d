import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { checkEuiccChain, issueEuicc, newKey, readCertificate } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { certBed } from './support/cert-bed.ts'

const lab = suite('esim-smdp/lab-eum')
const PATH = '/v1/esim/certs/lab-eum'
const YEAR_MS = 365 * 86_400_000

interface Eums {
  readonly eums: readonly {
    readonly curve: string
    readonly iin: string
    readonly ci: string
    readonly eum: string
  }[]
}

function spki(key: KeyObject): string {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64')
}

lab('signs for a maker of eUICCs whose eUICCs the server takes', async () => {
  const { bed, certs } = await certBed()
  try {
    await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org' } })
    for (const curve of ['P-256', 'brainpoolP256r1'] as const) {
      const key = newKey(curve)
      const answer = await bed.request('POST', PATH, { body: { public_keys: [spki(key)] } })
      assert.is(answer.status, 201, JSON.stringify(answer.body))
      const [eum] = (answer.body as Eums).eums
      assert.is(eum?.curve, curve)
      const certificate = readCertificate(Buffer.from(eum?.eum ?? '', 'base64'))
      const eid = `${eum?.iin}${'1'.repeat(24)}`
      const nowMs = certificate.notBeforeMs + YEAR_MS
      const euicc = issueEuicc(
        { certificate, key },
        {
          notBeforeMs: certificate.notBeforeMs,
          notAfterMs: certificate.notAfterMs,
          subject: {
            organization: certificate.subject.organization ?? '',
            serialNumber: eid,
            commonName: 'x',
          },
        },
      )
      const identity = certs()
        .identities()
        .find((one) => one.curve === curve)
      const ci = identity?.ci ?? new Uint8Array()
      const checked = checkEuiccChain({ euicc: euicc.certificate.raw, eum: certificate.raw, ci, nowMs })
      assert.is('eid' in checked && checked.eid, eid)
    }
    assert.is(((await bed.request('GET', '/v1/esim/certs')).body as { certs: unknown[] }).certs.length, 10)
  } finally {
    await bed.stop()
  }
})

lab('makes the CI of a lab, and refuses beside a CI of others, and keys of another kind', async () => {
  const { bed } = await certBed()
  const asked = (public_keys: unknown) => bed.request('POST', PATH, { body: { public_keys } })
  try {
    const good = spki(newKey('P-256'))
    assert.is((await asked([good])).status, 201)
    assert.is((await asked([spki(newKey('brainpoolP256r1'))])).status, 201)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' })
    for (const bad of ['AAAA', spki(privateKey)]) assert.is((await asked([bad])).status, 400)
    assert.is((await asked([])).status, 400)
    const ci = await readFile(new URL('./fixtures/sgp26/CERT_CI_ECDSA_NIST.der', import.meta.url))
    const files = [{ name: 'ci', base64: ci.toString('base64') }]
    assert.is((await bed.request('POST', '/v1/esim/certs/import', { body: { files } })).status, 200)
    const beside = await asked([good])
    assert.is(beside.status, 409)
    assert.match(JSON.stringify(beside.body), /no place beside them/)
  } finally {
    await bed.stop()
  }
})

lab.run()
