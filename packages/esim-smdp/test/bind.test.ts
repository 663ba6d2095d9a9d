import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { child, oneTimeKey, type RspCurve, readOne, type Tlv, verifyP1363 } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { type Binding, bindProfile, boundWith } from '../src/bpp/bind.ts'
import { storeMetadata } from '../src/es9/profile-of.ts'
import type { RspIdentity } from '../src/parts.ts'
import { fixture, hex, octets } from './support/profiles.ts'

const binds = suite('esim-smdp/bind')

interface Answers {
  readonly [name: string]: string
}
const KNOWN: {
  readonly [curve: string]: Answers & { ppk: Answers } & { [name: string]: readonly string[] }
} = JSON.parse(Buffer.from(fixture('bsp-kat.json')).toString())
const PROFILE = Uint8Array.from({ length: 2500 }, (_, i) => i & 0xff)
const CURVES = [
  ['P-256', 'prime256v1'],
  ['brainpoolP256r1', 'brainpoolP256r1'],
] as const

/** An identity of which only what binding needs is real. */
function identityOn(curve: RspCurve, namedCurve: string): { identity: RspIdentity; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const none = new Uint8Array(0)
  const certified = { der: none, key: privateKey }
  return {
    identity: {
      id: '',
      ciPkid: '',
      curve,
      ci: none,
      auth: certified,
      pb: certified,
      owner: '2.999.10',
      ownerOctets: none,
      authority: 'own',
    },
    publicKey,
  }
}

function partsOf(bpp: Uint8Array): { channel: Tlv; sequences: readonly Tlv[] } {
  const whole = readOne(bpp)
  assert.is(whole.tag, 0xbf36)
  const [channel, ...sequences] = whole.children()
  if (channel === undefined) throw new Error('no secure channel')
  return { channel, sequences }
}

for (const [curve, nodeName] of CURVES) {
  const known = KNOWN[nodeName]
  if (known === undefined) throw new Error('no known answers')
  const { identity, publicKey } = identityOn(curve, nodeName)

  const common: Binding = {
    identity,
    tid: octets(known.transactionId ?? ''),
    eid: known.eid ?? '',
    euiccOtpk: octets(known.otPK_EUICC ?? ''),
    metadata: octets(known.storeMetadata_plain ?? ''),
    profile: PROFILE,
  }

  binds(`makes the known package: ${curve}`, () => {
    const { ppk } = known
    const own = {
      initialMac: octets(ppk.initialMacChainingValue ?? ''),
      enc: octets(ppk.ppkEnc ?? ''),
      mac: octets(ppk.ppkCmac ?? ''),
    }
    const key = oneTimeKey(curve, octets(known.otSK_DP_hex ?? ''))
    const bpp = boundWith(common, { key, hostId: octets(known.hostId ?? ''), own })
    const { channel, sequences } = partsOf(bpp)
    const segments = sequences.map((one) => [one.tag, one.children().map(({ raw }) => hex(raw))])
    assert.equal(segments, [
      [0xa0, known.firstSequenceOf87],
      [0xa1, known.sequenceOf88],
      [0xa2, known.secondSequenceOf87],
      [0xa3, known.sequenceOf86_with_ppk],
    ])
    const signature = child(channel, 0x5f37)?.raw ?? new Uint8Array(0)
    assert.ok(verifyP1363(publicKey, signature, octets(known.smdpSign_tbs ?? '')))
  })

  binds(`binds differently each time: ${curve}`, () => {
    assert.is.not(hex(bindProfile(common)), hex(bindProfile(common)))
  })
}

binds('refuses a public key of the eUICC that is none', () => {
  const { identity } = identityOn('P-256', 'prime256v1')
  const binding = {
    identity,
    tid: new Uint8Array(16),
    eid: '89049032123451234512345678901235',
    euiccOtpk: new Uint8Array(65).fill(4),
    metadata: octets('bf2500'),
    profile: PROFILE,
  }
  assert.throws(() => bindProfile(binding), 'the public key is not on the curve')
  assert.throws(() => bindProfile({ ...binding, eid: '8904' }), /EID|curve/)
})

binds('says of a profile what the known answer says', () => {
  const facts = {
    iccid: '8999100000000000013',
    spn: 'Test SPN',
    profileName: 'Test Profile',
    address: 'smdp.example.com',
  }
  // Theirs asks for a notification of the installation too.
  assert.is(hex(storeMetadata({ ...facts, isInstallTold: true })), KNOWN.prime256v1?.storeMetadata_plain)
  assert.not.ok(hex(storeMetadata(facts)).includes('80020780'))
  const owned = hex(storeMetadata({ ...facts, owner: { mcc: '999', mnc: '70' } }))
  assert.ok(owned.endsWith('b705800399f907'))
  assert.ok(hex(storeMetadata({ ...facts, owner: { mcc: '310', mnc: '410' } })).endsWith('b7058003130014'))
})

binds('keeps names within their limit, never half a character, and refuses what is no ICCID', () => {
  const facts = {
    iccid: '8999901000000000013',
    spn: 'é'.repeat(40),
    profileName: '😀'.repeat(40),
    address: 'a.b',
  }
  const metadata = readOne(storeMetadata(facts))
  assert.is(Buffer.from(child(metadata, 0x91)?.value ?? []).toString(), 'é'.repeat(16))
  assert.is(Buffer.from(child(metadata, 0x92)?.value ?? []).toString(), '😀'.repeat(16))
  assert.throws(() => storeMetadata({ ...facts, iccid: '899' }), 'an ICCID has 18 to 20 digits')
})

binds.run()
