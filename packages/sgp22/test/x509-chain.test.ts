import { readFileSync } from 'node:fs'
import { assert, suite } from '@steeple/testkit'
import { checkEuiccChain, verifiedCertificates } from '../src/x509-chain.ts'

const chain = suite('sgp22/x509-chain')
const fixture = (name: string): Uint8Array => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))
const own = (name: string, curve: string): Uint8Array => fixture(`own-pki/${name}_ECDSA_${curve}.der`)
const NOW = Date.parse('2026-11-22T00:00:00Z')

for (const curve of ['NIST', 'BRP'])
  chain(`accepts an eUICC under its EUM and CI, ${curve}`, async () => {
    const verified = verifiedCertificates()
    const of = { euicc: own('CERT_EUICC', curve), eum: own('CERT_EUM', curve), ci: own('CERT_CI', curve) }
    for (let i = 0; i < 2; i++) {
      const found = checkEuiccChain({ ...of, nowMs: NOW }, verified)
      if ('code' in found) throw new Error(found.message)
      assert.is(found.eid, '89049032123451234512345678901235')
      assert.is(found.publicKey.asymmetricKeyType, 'ec')
    }
    const late = checkEuiccChain({ ...of, nowMs: Date.parse('2070-01-01') }, verified)
    assert.is('code' in late && late.code, '8.1.2/6.3')
  })

chain('accepts one of the test CI of SGP.26, whose name has changed', async () => {
  const found = checkEuiccChain({
    euicc: fixture('sgp26/waigel-euicc.der'),
    eum: fixture('sgp26/waigel-eum.der'),
    ci: fixture('sgp26/CERT_CI_ECDSA_NIST.der'),
    nowMs: NOW,
  })
  assert.is('code' in found && found.message, false)
})

chain.run()
