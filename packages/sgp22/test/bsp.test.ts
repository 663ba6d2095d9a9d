import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  type Bsp,
  type BspKeys,
  bsp,
  cmac,
  eidOctets,
  encryptedSegments,
  macOnlySegments,
  oneTimeKey,
  sessionKeys,
} from '../src/bsp.ts'
import { ANSWERS, type Answers, hex, octets, PROFILE, RECORDED } from './support/answers.ts'

const segments = suite('sgp22/bsp')

const keysOf = (known: Answers): BspKeys => ({
  initialMac: octets(known.initialMacChainingValue),
  enc: octets(known['S-ENC']),
  mac: octets(known['S-MAC']),
})
const ownKeysOf = ({ ppk }: Answers): BspKeys => ({
  initialMac: octets(ppk.initialMacChainingValue),
  enc: octets(ppk.ppkEnc),
  mac: octets(ppk.ppkCmac),
})
type Step = readonly [(instance: Bsp) => readonly Uint8Array[], readonly string[]]
/** Octets of a segment with tag and length. SGP.22 §2.5.3. */
const MAX_SEGMENT = 1020
const SOME: BspKeys = {
  initialMac: new Uint8Array(16),
  enc: PROFILE.subarray(0, 16),
  mac: PROFILE.subarray(16, 32),
}

segments('sums the messages of RFC 4493 §4', () => {
  const sum = cmac(octets('2b7e151628aed2a6abf7158809cf4f3c'))
  const message =
    '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710'
  const sums = [0, 16, 40, 64].map((length) => {
    // What was there before is no part of it.
    const room = new Uint8Array(length + 16).fill(0xa5)
    room.set(octets(message.slice(0, 2 * length)))
    return hex(sum(room, length))
  })
  assert.equal(sums, [
    'bb1d6929e95937287fa37d129b756746',
    '070a16b46b4d4144f79bdd9dd04a287c',
    'dfa66747de9ae63030ca32611497c827',
    '51f0bebf7e3b9d92fc49741779363cfe',
  ])
})

for (const [curve, known] of ANSWERS) {
  segments(`agrees on the keys of the known answers: ${curve}`, () => {
    const own = oneTimeKey(curve, octets(known.otSK_DP_hex))
    const card = oneTimeKey(curve, octets(known.otSK_EUICC_hex))
    assert.equal([hex(own.publicPoint), hex(card.publicPoint)], [known.otPK_DP, known.otPK_EUICC])
    const secrets = [own.agree(card.publicPoint), card.agree(own.publicPoint)]
    assert.equal(secrets.map(hex), [known.sharedSecret_x, known.sharedSecret_x])
    const { initialMac, enc, mac } = sessionKeys(
      octets(known.sharedSecret_x),
      octets(known.hostId),
      known.eid,
    )
    assert.equal([initialMac, enc, mac].map(hex), [
      known.initialMacChainingValue,
      known['S-ENC'],
      known['S-MAC'],
    ])
  })

  segments(`seals what the known answers say: ${curve}`, () => {
    const plan: readonly Step[] = [
      [(one) => encryptedSegments(one, 0x87, octets(known.configureIsdp_plain)), known.firstSequenceOf87],
      [(one) => macOnlySegments(one, octets(known.storeMetadata_plain)), known.sequenceOf88],
    ]
    play(keysOf(known), [
      ...plan,
      [(one) => encryptedSegments(one, 0x86, PROFILE), known.sequenceOf86_with_session_keys],
    ])
    play(keysOf(known), [
      ...plan,
      [
        (one) => encryptedSegments(one, 0x87, octets(known.replaceSessionKeys_plain)),
        known.secondSequenceOf87,
      ],
    ])
    play(ownKeysOf(known), [[(one) => encryptedSegments(one, 0x86, PROFILE), known.sequenceOf86_with_ppk]])
  })

  segments(`refuses points that are not on ${curve}, and an agreement more`, () => {
    const bent = octets(known.otPK_EUICC)
    bent[64] = (bent[64] ?? 0) ^ 1
    for (const point of [bent, new Uint8Array(65), octets(known.otPK_EUICC).subarray(1), new Uint8Array(0)])
      assert.throws(() => oneTimeKey(curve).agree(point), /public key/)
    const key = oneTimeKey(curve)
    key.agree(octets(known.otPK_EUICC))
    assert.throws(() => key.agree(octets(known.otPK_EUICC)), 'the one-time key was used already')
  })
}

/** Seals step by step, and compares with what is known. */
function play(keys: BspKeys, steps: readonly Step[]): void {
  const sender = bsp(keys)
  for (const [seal, known] of steps) assert.equal(seal(sender).map(hex), known)
}

segments('derives and seals what others have recorded', () => {
  for (const one of RECORDED) {
    const keys = sessionKeys(octets(one.sharedSecret), octets(one.hostId), one.eid)
    assert.equal([keys.initialMac, keys.enc, keys.mac].map(hex), [one.mcv, one['S-ENC'], one['S-MAC']])
    const instance = bsp(keys)
    for (const { tag, plain, out } of one.seq ?? []) {
      const sealed =
        tag === '88' ? instance.macOnly(octets(plain)) : instance.encryptAndMac(0x87, octets(plain))
      assert.is(hex(sealed), out)
    }
  }
})

segments('keeps every segment within the limit, whatever the length', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000 }), fc.boolean(), (length, isOpen) => {
      const text = Uint8Array.from({ length }, (_, i) => (i * 7) & 0xff)
      const sealed = isOpen ? macOnlySegments(bsp(SOME), text) : encryptedSegments(bsp(SOME), 0x86, text)
      assert.ok(sealed.every((one) => one.length <= MAX_SEGMENT))
    }),
    { numRuns: 60 },
  )
  assert.is(encryptedSegments(bsp(SOME), 0x86, PROFILE)[0]?.length, MAX_SEGMENT)
  assert.is(macOnlySegments(bsp(SOME), PROFILE)[0]?.length, MAX_SEGMENT)
})

segments('seals no more than a segment holds, and nothing once its keys are gone', () => {
  const instance = bsp(SOME)
  assert.throws(() => instance.encryptAndMac(0x86, new Uint8Array(1008)), /at most 1007 octets/)
  assert.throws(() => instance.macOnly(new Uint8Array(1009)), /at most 1008 octets/)
  instance.wipe()
  assert.throws(() => instance.encryptAndMac(0x86, PROFILE.subarray(0, 1)), 'the session is over')
})

segments('takes an EID of 32 digits alone', () => {
  assert.is(hex(eidOctets('89049032123451234512345678901235')), '89049032123451234512345678901235')
  for (const eid of ['', '8904903212345123451234567890123', '8904903212345123451234567890123f'])
    assert.throws(() => eidOctets(eid), 'an EID has 32 digits')
})

segments.run()
