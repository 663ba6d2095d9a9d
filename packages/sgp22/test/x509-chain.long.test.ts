import { sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { assert, bitsOf, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import type { RspCurve } from '../src/bsp.ts'
import { readOne, tlv } from '../src/tlv.ts'
import { readCertificate } from '../src/x509.ts'
import {
  checkEuiccChain,
  type EuiccChain,
  type VerifiedCertificates,
  verifiedCertificates,
} from '../src/x509-chain.ts'
import { type Issued, issueDp, issueEuicc, issueEum } from '../src/x509-issue.ts'
import { below, EID, EUM_NAME, NOW, newCi, type Otherwise, TIMES } from './support/hierarchy.ts'

const chain = suite('sgp22/x509-chain', { limitMs: 900_000 })
const fixture = (name: string): Uint8Array => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))
const own = (name: string, curve: string): Uint8Array => fixture(`own-pki/${name}_ECDSA_${curve}.der`)
const CURVES: readonly RspCurve[] = ['P-256', 'brainpoolP256r1']

/** The code of the first problem, or `ok` and the EID. */
function verdict(of: Omit<EuiccChain, 'nowMs'>, nowMs = NOW, verified?: VerifiedCertificates): string {
  const found = checkEuiccChain({ ...of, nowMs }, verified)
  return 'code' in found ? `${found.code} ${found.message}` : `ok ${found.eid}`
}
function verdictOf(ci: Issued, otherwise: Otherwise): string {
  const { eum, euicc } = below(ci, otherwise)
  return verdict({ ci: ci.certificate.raw, eum: eum.certificate.raw, euicc: euicc.certificate.raw })
}

for (const curve of ['NIST', 'BRP'])
  chain(`accepts a hierarchy that other programs have accepted, ${curve}`, async () => {
    const verified = verifiedCertificates()
    const of = { euicc: own('CERT_EUICC', curve), eum: own('CERT_EUM', curve), ci: own('CERT_CI', curve) }
    for (let i = 0; i < 2; i++) {
      const found = checkEuiccChain({ ...of, nowMs: NOW }, verified)
      if ('code' in found) throw new Error(found.message)
      assert.is(found.eid, EID)
      assert.is(found.publicKey.asymmetricKeyType, 'ec')
    }
    const late = checkEuiccChain({ ...of, nowMs: Date.parse('2070-01-01') }, verified)
    assert.is('code' in late && late.code, '8.1.2/6.3')
  })

chain('accepts an EUM of the test CI of SGP.26 from before its name changed', async () => {
  const of = {
    euicc: fixture('sgp26/waigel-euicc.der'),
    eum: fixture('sgp26/waigel-eum.der'),
    ci: fixture('sgp26/CERT_CI_ECDSA_NIST.der'),
  }
  assert.is(verdict(of), `ok ${EID}`)
})

for (const curve of CURVES)
  chain(`accepts what is issued here, both variants, ${curve}`, async () => {
    const ci = newCi(curve)
    assert.is(verdictOf(ci, {}), `ok ${EID}`)
    assert.is(verdictOf(ci, { variant: 'v3' }), `ok ${EID}`)
    assert.is(verdictOf(ci, { iins: ['11111111', '89049032'] }), `ok ${EID}`)
  })

chain('says which certificate is not valid, the EUM first', async () => {
  const ci = newCi('P-256')
  const past = { notBeforeMs: NOW - 2000, notAfterMs: NOW - 1000 }
  const future = { notBeforeMs: NOW + 1000, notAfterMs: NOW + 2000 }
  assert.match(verdictOf(ci, { eumTimes: past }), /^8\.1\.2\/6\.3 /)
  assert.match(verdictOf(ci, { eumTimes: future, euiccTimes: past }), /^8\.1\.2\/6\.3 /)
  assert.match(verdictOf(ci, { euiccTimes: past }), /^8\.1\.3\/6\.3 /)
  assert.match(verdictOf(ci, { euiccTimes: future }), /^8\.1\.3\/6\.3 /)
})

chain('refuses an EID outside of what the EUM may give, or that is none', async () => {
  const ci = newCi('P-256')
  for (const variant of ['O', 'v3'] as const) {
    assert.match(verdictOf(ci, { variant, iins: ['89049033'] }), /^8\.1\.3\/6\.1 .*EUM may not give/)
    assert.match(verdictOf(ci, { variant, iins: [] }), /^8\.1\.2\/6\.1 /)
  }
  for (const eid of [EID.slice(1), `${EID}1`, `8904903212345123451234567890123x`, ''])
    assert.match(verdictOf(ci, { eid }), /^8\.1\.3\/6\.1 .*no EID of 32 digits/)
  assert.match(verdictOf(ci, { organization: 'Another' }), /^8\.1\.3\/6\.1 .*another organisation/)
})

chain('refuses another CI, and a CI of the same name with another key', async () => {
  const [ci, other] = [newCi('P-256'), newCi('P-256')]
  const { eum, euicc } = below(ci)
  const of = { ci: other.certificate.raw, eum: eum.certificate.raw, euicc: euicc.certificate.raw }
  assert.match(verdict(of), /^8\.11\.1\/3\.9 /)
  const forged = issueEum(
    { certificate: ci.certificate, key: other.key },
    { ...TIMES, subject: EUM_NAME, registeredId: '2.999.5', iins: ['8'] },
  )
  assert.match(
    verdict({ ...of, ci: ci.certificate.raw, eum: forged.certificate.raw }),
    /^8\.1\.2\/6\.1 .*not signed/,
  )
})

chain('refuses certificates in roles that are not theirs', async () => {
  const ci = newCi('P-256')
  const { eum, euicc } = below(ci)
  const subject = { organization: EUM_NAME.organization, commonName: 'x', serialNumber: EID }
  const server = issueDp(ci, 'dpauth', { ...TIMES, subject, registeredId: '2.999.10' })
  const [a, b, c] = [ci.certificate.raw, eum.certificate.raw, euicc.certificate.raw]
  assert.match(verdict({ ci: a, eum: server.certificate.raw, euicc: c }), /^8\.1\.2\/6\.1 /)
  assert.match(verdict({ ci: a, eum: a, euicc: c }), /^8\.11\.1\/3\.9 /)
  assert.match(verdict({ ci: a, eum: b, euicc: b }), /^8\.1\.3\/6\.1 /)
  assert.match(verdict({ ci: a, eum: b, euicc: server.certificate.raw }), /^8\.1\.3\/6\.1 /)
  // An eUICC that signs another one.
  const child = issueEuicc(euicc, { ...TIMES, subject })
  assert.match(verdict({ ci: a, eum: b, euicc: child.certificate.raw }), /^8\.1\.3\/6\.1 /)
  assert.match(verdict({ ci: a, eum: c, euicc: child.certificate.raw }), /^8\.11\.1\/3\.9 /)
})

/** The certificate with octets of it exchanged, and signed again: only what it says is wrong. */
function resigned(of: Issued, by: Issued, from: string, to: string): Uint8Array {
  const text = Buffer.from(of.certificate.tbs).toString('hex')
  assert.is(text.split(from).length, 2, `${from} is there once`)
  const tbs = Buffer.from(text.replace(from, to), 'hex')
  const [, algorithm] = readOne(of.certificate.raw).children()
  const signature = tlv(0x03, Uint8Array.of(0), sign('sha256', tbs, by.key))
  return tlv(0x30, tbs, algorithm?.raw ?? new Uint8Array(0), signature)
}

chain('refuses certificates that say of themselves what they may not', async () => {
  const ci = newCi('P-256')
  const { eum, euicc } = below(ci)
  const { eum: eum3, euicc: euicc3 } = below(ci, { variant: 'v3' })
  const eumWith = (from: string, to: string): string =>
    verdict({ ci: ci.certificate.raw, eum: resigned(eum, ci, from, to), euicc: euicc.certificate.raw })
  const euiccWith = (from: string, to: string): string =>
    verdict({ ci: ci.certificate.raw, eum: eum.certificate.raw, euicc: resigned(euicc, eum, from, to) })
  const SIGNS = '04040302' // an octet string around a bit string of two octets
  assert.match(eumWith(`${SIGNS}0204`, `${SIGNS}0780`), /^8\.1\.2\/6\.1 .*may not sign/)
  assert.match(euiccWith(`${SIGNS}0780`, `${SIGNS}0640`), /^8\.1\.3\/6\.1 .*may not sign/)
  assert.match(euiccWith(`${SIGNS}0780`, `${SIGNS}0284`), /^8\.1\.3\/6\.1 .*an authority/)
  assert.match(eumWith('30060101ff020100', '30060101ff020101'), /^8\.1\.2\/6\.1 .*path length/)
  assert.match(eumWith('30060101ff020100', '3006010100020100'), /^8\.1\.2\/6\.1 .*no authority/)
  const longer = resigned(eum3, ci, '30060101ff020101', '30060101ff020102')
  const of3 = { ci: ci.certificate.raw, euicc: euicc3.certificate.raw }
  assert.match(verdict({ ...of3, eum: longer }), /^8\.1\.2\/6\.1 .*path length/)
  // Roles: SM-DP+ in place of EUM and of eUICC (2.23.146.1.2.1.x).
  assert.match(eumWith('678112010201' + '02', '678112010201' + '04'), /^8\.1\.2\/6\.1 .*policies/)
  assert.match(euiccWith('678112010201' + '01', '678112010201' + '04'), /^8\.1\.3\/6\.1 .*policies/)
  // A critical extension that nobody knows, in place of the policies.
  assert.match(eumWith('0603551d20', '0603551d63'), /^8\.1\.2\/6\.1 .*critical extension 2\.5\.29\.99/)
  // Another EUM's key named, with the signature of this one.
  const id = eum.certificate.subjectKeyId ?? ''
  assert.match(euiccWith(id, `00${id.slice(2)}`), /^8\.1\.3\/6\.1 .*another key/)
  // A public key that is on no curve.
  const point = Buffer.from(euicc.certificate.spki).toString('hex').slice(-64)
  assert.match(
    euiccWith(point, `${point.slice(0, -2)}${point.endsWith('00') ? '01' : '00'}`),
    /^8\.1\.3\/6\.1 .*no point/,
  )
})

chain('refuses an eUICC on another curve than its EUM', async () => {
  const ci = newCi('P-256')
  const { eum, euicc } = below(ci)
  const mixed = issueEuicc(eum, {
    ...TIMES,
    subject: { organization: EUM_NAME.organization, serialNumber: EID },
    key: newCi('brainpoolP256r1').key,
  })
  assert.match(
    verdict({ ci: ci.certificate.raw, eum: eum.certificate.raw, euicc: mixed.certificate.raw }),
    /^8\.1\.3\/6\.1 .*curve/,
  )
  assert.is(
    verdict({ ci: ci.certificate.raw, eum: eum.certificate.raw, euicc: euicc.certificate.raw }),
    `ok ${EID}`,
  )
})

for (const curve of CURVES)
  chain(`refuses a flipped bit in each octet of both certificates, ${curve}`, async () => {
    const ci = newCi(curve)
    const { eum, euicc } = below(ci)
    // What is not flipped is verified once.
    const verified = verifiedCertificates()
    const raw = { ci: ci.certificate.raw, eum: eum.certificate.raw, euicc: euicc.certificate.raw }
    for (const which of ['eum', 'euicc'] as const) {
      const subject = which === 'eum' ? /^(8\.1\.2\/6\.[13]|8\.11\.1\/3\.9) / : /^8\.1\.3\/6\.[13] /
      for (const bit of bitsOf(raw[which].length)) {
        const octets = Uint8Array.from(raw[which])
        octets[bit >> 3] = (octets[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7))
        assert.match(verdict({ ...raw, [which]: octets }, NOW, verified), subject, `${which}, bit ${bit}`)
      }
    }
  })

chain('answers any octets in place of certificates with a code', async () => {
  const ci = newCi('P-256')
  const { eum, euicc } = below(ci)
  const mutated = (from: Uint8Array): fc.Arbitrary<Uint8Array> =>
    fc
      .array(fc.tuple(fc.nat(from.length - 1), fc.integer({ min: 0, max: 255 })), {
        minLength: 1,
        maxLength: 6,
      })
      .chain((edits) =>
        fc.tuple(fc.constant(edits), fc.nat(from.length), fc.boolean()).map(([list, cut, isCut]) => {
          const octets = Uint8Array.from(from)
          for (const [at, value] of list) octets[at] = value
          return isCut ? octets.subarray(0, cut) : octets
        }),
      )
  await fc.assert(
    fc.property(
      fc.oneof(mutated(eum.certificate.raw), fc.uint8Array({ maxLength: 300 })),
      fc.oneof(mutated(euicc.certificate.raw), fc.uint8Array({ maxLength: 300 })),
      (a, b) => {
        const of = { ci: ci.certificate.raw }
        assert.match(verdict({ ...of, eum: a, euicc: euicc.certificate.raw }), /^(8\.1\.[23]|8\.11\.1|ok)/)
        assert.match(verdict({ ...of, eum: eum.certificate.raw, euicc: b }), /^(8\.1\.3|ok)/)
        for (const octets of [a, b])
          try {
            readCertificate(octets)
          } catch (error) {
            assert.is(error instanceof Error && error.name, 'X509Error')
          }
      },
    ),
    { numRuns: rounds(200) },
  )
})

chain('remembers a bounded number of certificates, and nothing of another CI', async () => {
  const verified = verifiedCertificates(2)
  const [ci, other] = [newCi('P-256'), newCi('P-256')]
  const { eum, euicc } = below(ci)
  const of = { eum: eum.certificate.raw, euicc: euicc.certificate.raw, nowMs: NOW }
  assert.not.ok('code' in checkEuiccChain({ ...of, ci: ci.certificate.raw }, verified))
  const wrong = checkEuiccChain({ ...of, ci: other.certificate.raw }, verified)
  assert.is('code' in wrong && wrong.code, '8.11.1/3.9')
  for (let i = 0; i < 5; i++) verified.keep(String(i), { certificate: ci.certificate, key: ci.key })
  assert.is(verified.find('2'), undefined)
  assert.ok(verified.find('4'))
})

chain.run()
