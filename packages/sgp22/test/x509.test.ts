import { readFileSync } from 'node:fs'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { oidOctets, oidText } from '../src/oid.ts'
import { tlv } from '../src/tlv.ts'
import { isSignedBy, publicKeyOf, readCertificate } from '../src/x509.ts'
import { issueDp, issueEuicc, issueEum, issueTls, timeTlv } from '../src/x509-issue.ts'
import { below, EID, EUM_NAME, NOW, newCi, TIMES } from './support/hierarchy.ts'

const x509 = suite('sgp22/x509')
const fixture = (name: string): Uint8Array => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))

x509('reads what SGP.22 needs of each kind of certificate', async () => {
  const ci = readCertificate(fixture('sgp26/CERT_CI_ECDSA_NIST.der'))
  assert.equal(
    [ci.role, ci.curve, ci.subjectKeyId, ci.isCa, ci.pathLength, ci.registeredId?.text],
    ['ci', 'P-256', 'f54172bdf98a95d65cbeb88a38a1c11d800a85c3', true, undefined, '2.999.1'],
  )
  assert.equal(ci.keyUsage, ['keyCertSign', 'cRLSign'])
  assert.is(ci.notAfterMs, Date.parse('2055-04-01T08:27:51Z'))
  const auth = readCertificate(fixture('sgp26/CERT_S_SM_DPauth_ECDSA_BRP.der'))
  assert.equal(
    [auth.role, auth.curve, auth.registeredId?.text, auth.subject.organization],
    ['dpauth', 'brainpoolP256r1', '2.999.10', 'ACME'],
  )
  const tls = readCertificate(fixture('own-pki/CERT_S_SM_DP_TLS_NIST.der'))
  assert.equal([tls.role, tls.dnsNames], ['dptls', ['testsmdpplus1.example.com', 'localhost']])
  const eum = readCertificate(fixture('sgp26/CERT_EUM_ECDSA_NIST.der'))
  assert.equal(
    [eum.role, eum.isCa, eum.pathLength, eum.keyUsage, eum.subject.organization],
    ['eum', true, 0, ['keyCertSign'], 'RSP Test EUM'],
  )
  assert.equal(
    eum.permittedNames?.map(({ organization, serialNumber }) => [organization, serialNumber]),
    [['RSP Test EUM', '89049032']],
  )
  assert.is(readCertificate(fixture('own-pki/CERT_EUICC_ECDSA_BRP.der')).subject.serialNumber, EID)
})

x509('reads serial numbers of any length', async () => {
  assert.is(readCertificate(fixture('sgp26/waigel-ci-2017.der')).serial, '00b874f3abfa6c44d3')
  assert.is(readCertificate(fixture('own-pki/CERT_CI_ECDSA_NIST.der')).serial.length, 40)
})

x509('says by whom a certificate is signed', async () => {
  const ci = readCertificate(fixture('sgp26/CERT_CI_ECDSA_BRP.der'))
  const auth = readCertificate(fixture('sgp26/CERT_S_SM_DPauth_ECDSA_BRP.der'))
  const other = readCertificate(fixture('sgp26/CERT_CI_ECDSA_NIST.der'))
  assert.ok(isSignedBy(auth, publicKeyOf(ci)))
  assert.ok(isSignedBy(ci, publicKeyOf(ci)))
  assert.not.ok(isSignedBy(auth, publicKeyOf(other)))
})

x509('issues certificates that read as they were ordered', async () => {
  const ci = newCi('brainpoolP256r1')
  const terms = { ...TIMES, registeredId: '2.999.10' }
  const subject = { organization: 'ACME', commonName: 'TEST SM-DP' }
  const pb = issueDp(ci, 'dppb', { ...terms, subject }).certificate
  assert.equal(
    [pb.role, pb.registeredId?.text, pb.keyUsage, pb.isCa, pb.authorityKeyId, pb.notAfterMs],
    ['dppb', '2.999.10', ['digitalSignature'], false, ci.certificate.subjectKeyId, TIMES.notAfterMs],
  )
  const hosts = ['smdp.example.org', '192.0.2.1', '2001:db8::1'] as const
  const tls = issueTls(ci, { ...terms, organization: 'ACME', hosts: [...hosts] }).certificate
  assert.equal([tls.role, tls.dnsNames, tls.curve], ['dptls', ['smdp.example.org'], 'brainpoolP256r1'])
  assert.equal(tls.addresses, ['192.0.2.1', '2001:db8:0:0:0:0:0:1'])
  const { eum, euicc } = below(ci, { variant: 'v3' })
  assert.equal(
    [eum.certificate.variant, eum.certificate.pathLength, eum.certificate.permittedEins],
    ['v3', 1, ['89049032']],
  )
  assert.equal([euicc.certificate.role, euicc.certificate.variant], ['euicc', 'v3'])
  assert.is(euicc.certificate.notAfterMs, Date.UTC(9999, 11, 31, 23, 59, 59))
})

x509('gives no two certificates one serial number', async () => {
  const ci = newCi('P-256')
  const eum = issueEum(ci, { ...TIMES, subject: EUM_NAME, registeredId: '2.999.5', iins: ['8'] })
  const serials = Array.from(
    { length: 50 },
    () => issueEuicc(eum, { ...TIMES, subject: {} }).certificate.serial,
  )
  assert.is(new Set(serials).size, 50)
})

x509('keeps object identifiers the same from text to octets and back', async () => {
  assert.is(Buffer.from(oidOctets('2.999.10') ?? []).toString('hex'), '88370a')
  assert.is(oidText(Uint8Array.of(0x88, 0x37)), '2.999')
  assert.is(oidOctets('1.40.1'), undefined)
  assert.is(oidText(Uint8Array.of(0x88, 0x80)), undefined)
  assert.is(oidText(Uint8Array.of(0x2a, 0x80, 0x01)), undefined)
  const arc = fc.bigInt({ min: 0n, max: 2n ** 100n }).map(String)
  const oid = fc.oneof(
    fc.tuple(fc.constantFrom('0', '1'), fc.integer({ min: 0, max: 39 }).map(String), arc),
    fc.tuple(fc.constant('2'), arc, arc),
  )
  await fc.assert(
    fc.property(oid, (arcs) => {
      const text = arcs.join('.')
      assert.is(oidText(oidOctets(text) ?? new Uint8Array(0)), text)
    }),
  )
  await fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (octets) => {
      const text = oidText(octets)
      if (text !== undefined) assert.equal(oidOctets(text), octets)
    }),
  )
})

x509('writes times as RFC 5280 asks, up to the year 9999', async () => {
  const text = (ms: number): string => Buffer.from(timeTlv(ms)).toString('latin1').slice(2)
  assert.is(text(NOW), '261122000000Z')
  assert.is(text(Date.UTC(2049, 11, 31, 23, 59, 59)), '491231235959Z')
  assert.is(text(Date.UTC(2050, 0, 1)), '20500101000000Z')
})

x509('refuses what two readers could understand in two ways', async () => {
  const raw = fixture('own-pki/CERT_EUICC_ECDSA_NIST.der')
  assert.throws(() => readCertificate(tlv(0x30, raw)), /no certificate|lacks|version/)
  assert.throws(() => readCertificate(new Uint8Array([...raw, 0])), /no DER/)
  assert.throws(() => readCertificate(new Uint8Array(9000)), /octets/)
  const twice = Buffer.from(raw)
  // serialNumber (2.5.4.5) in place of CN (2.5.4.3) of the subject: then there are two.
  const at = twice.lastIndexOf(Buffer.from('0603550403', 'hex'))
  twice[at + 4] = 5
  assert.throws(() => readCertificate(twice), /2 attributes serialNumber/)
})

x509.run()
