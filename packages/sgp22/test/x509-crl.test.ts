import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { tlv } from '../src/tlv.ts'
import { publicKeyOf, X509Error } from '../src/x509.ts'
import { checkEuiccChain, isListSignedBy, isRevocationList, readRevocationList } from '../src/x509-chain.ts'
import { extensionTlv, issueRevocationList } from '../src/x509-issue.ts'
import { below, NOW, newCi } from './support/hierarchy.ts'

const crl = suite('sgp22/x509-crl')
const DAY_MS = 86_400_000
const TIMES = { number: 1, thisUpdateMs: NOW - DAY_MS, nextUpdateMs: NOW + DAY_MS }
/**
 * Made by `openssl ca -gencrl` 3.0 with an own P-256 key: serial 10F2 revoked with the reason keyCompromise, a list number,
 * the key identifier.
 */
const BY_OPENSSL =
  'MIH7MIGhAgEBMAoGCCqGSM49BAMCMBwxDTALBgNVBAoMBFRlc3QxCzAJBgNVBAMMAkNJFw0yNjExMjIxNDI1MzlaFw0yNjEyMjIxNDI1MzlaMCMwIQICEPIXDTI2MDEwMTAwMDAwMFowDDAKBgNVHRUEAwoBAaAvMC0wHwYDVR0jBBgwFoAUsR872OJYZLkPlAnsGUek16RcivYwCgYDVR0UBAMCAQEwCgYIKoZIzj0EAwIDSQAwRgIhAOR7kZjER37ixnyqvSTfFqidB0jBNzgXtUpIy8Q7EWceAiEAk71sBPrTdKq6Kqzamu/J/4MtrkKuDinfgpp5gu6LEB8='

const why = (read: () => unknown): string => {
  try {
    read()
    return 'ok'
  } catch (error) {
    assert.ok(error instanceof X509Error, String(error))
    return error.message
  }
}

for (const curve of ['P-256', 'brainpoolP256r1'] as const)
  crl(`reads what an issuer takes back, and knows whose word it is, ${curve}`, () => {
    const [ci, other] = [newCi(curve), newCi(curve)]
    const { eum, euicc } = below(ci, {})
    const serials = [eum.certificate.serial, '00ff01']
    const list = readRevocationList(issueRevocationList(ci, { ...TIMES, serials }))
    assert.equal(list.serials, serials)
    assert.equal([list.thisUpdateMs, list.nextUpdateMs], [TIMES.thisUpdateMs, TIMES.nextUpdateMs])
    assert.is(list.authorityKeyId, ci.certificate.subjectKeyId)
    assert.ok(isListSignedBy(list, publicKeyOf(ci.certificate)))
    assert.not.ok(isListSignedBy(list, publicKeyOf(other.certificate)))
    assert.equal(readRevocationList(issueRevocationList(ci, { ...TIMES, serials: [] })).serials, [])
    for (const [at, code] of [
      [eum, '8.1.2/6.1'],
      [euicc, '8.1.3/6.1'],
    ] as const) {
      const found = checkEuiccChain({
        ci: ci.certificate.raw,
        eum: eum.certificate.raw,
        euicc: euicc.certificate.raw,
        nowMs: NOW,
        isRevoked: ({ serial }) => serial === at.certificate.serial,
      })
      assert.equal('code' in found && [found.code, /revoked/.test(found.message)], [code, true])
    }
  })

crl('reads a list that another program has made', () => {
  const der = Buffer.from(BY_OPENSSL, 'base64')
  assert.ok(isRevocationList(der))
  const list = readRevocationList(der)
  assert.equal(list.serials, ['10f2'])
  assert.match(list.authorityKeyId, /^[0-9a-f]{40}$/)
})

crl('refuses lists that may mean certificates of others, or that say more than it knows', () => {
  const ci = newCi('P-256')
  const withOne = (extension: Uint8Array): string =>
    why(() =>
      readRevocationList(issueRevocationList(ci, { ...TIMES, serials: ['01'], extensions: [extension] })),
    )
  const flag = Uint8Array.of(0xff)
  const ISSUING_POINT = '2.5.29.28'
  assert.is(withOne(extensionTlv(ISSUING_POINT, true, tlv(0x30, tlv(0x82, flag)))), 'ok', 'CAs alone')
  assert.match(withOne(extensionTlv(ISSUING_POINT, true, tlv(0x30, tlv(0x84, flag)))), /indirect/)
  assert.match(withOne(extensionTlv('2.5.29.27', true, tlv(0x02, Uint8Array.of(1)))), /2\.5\.29\.27/)
  assert.not.ok(isRevocationList(ci.certificate.raw))
})

crl('throws nothing else whatever the octets are, and takes no changed list for signed', () => {
  const ci = newCi('P-256')
  const key = publicKeyOf(ci.certificate)
  const good = issueRevocationList(ci, { ...TIMES, serials: ['0a0b'] })
  fc.assert(
    fc.property(fc.nat(good.length * 8 - 1), (bit) => {
      const bad = Uint8Array.from(good)
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      why(() => assert.not.ok(isListSignedBy(readRevocationList(bad), key)))
    }),
    { numRuns: 400 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => void why(() => readRevocationList(octets))),
  )
})

crl.run()
