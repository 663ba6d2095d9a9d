import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  type Bsp,
  type BspKeys,
  bsp,
  cmac,
  eidOctets,
  encryptedSegments,
  MAX_SEGMENT,
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

  segments(`seals what the known answers say, and opens it again: ${curve}`, () => {
    const plan: (readonly [(instance: Bsp) => readonly Uint8Array[], readonly string[], Uint8Array])[] = [
      [
        (one) => encryptedSegments(one, 0x87, octets(known.configureIsdp_plain)),
        known.firstSequenceOf87,
        octets(known.configureIsdp_plain),
      ],
      [
        (one) => macOnlySegments(one, octets(known.storeMetadata_plain)),
        known.sequenceOf88,
        octets(known.storeMetadata_plain),
      ],
    ]
    const replace = octets(known.replaceSessionKeys_plain)
    const withSession = [
      ...plan,
      [
        (one: Bsp) => encryptedSegments(one, 0x86, PROFILE),
        known.sequenceOf86_with_session_keys,
        PROFILE,
      ] as const,
    ]
    const withOwn = [
      ...plan,
      [(one: Bsp) => encryptedSegments(one, 0x87, replace), known.secondSequenceOf87, replace] as const,
    ]
    for (const steps of [withSession, withOwn]) play(keysOf(known), steps)
    play(ownKeysOf(known), [
      [(one) => encryptedSegments(one, 0x86, PROFILE), known.sequenceOf86_with_ppk, PROFILE],
    ])
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

/** Seals step by step, compares with what is known, and opens it with the other end of the same keys. */
function play(
  keys: BspKeys,
  steps: readonly (readonly [(instance: Bsp) => readonly Uint8Array[], readonly string[], Uint8Array])[],
): void {
  const sender = bsp(keys)
  const receiver = bsp(keys)
  for (const [seal, known, plain] of steps) {
    const sealed = seal(sender)
    assert.equal(sealed.map(hex), known)
    assert.is(hex(Buffer.concat(sealed.map((one) => receiver.open(one)))), hex(plain))
  }
}

segments('derives and seals what others have recorded', () => {
  for (const one of RECORDED) {
    const keys = sessionKeys(octets(one.sharedSecret), octets(one.hostId), one.eid)
    assert.equal([keys.initialMac, keys.enc, keys.mac].map(hex), [one.mcv, one['S-ENC'], one['S-MAC']])
    const instance = bsp(keys)
    for (const { tag, plain, out } of one.seq ?? []) {
      const sealed =
        tag === '88' ? instance.macOnly(0x88, octets(plain)) : instance.encryptAndMac(0x87, octets(plain))
      assert.is(hex(sealed), out)
    }
  }
})

segments('refuses a segment with any bit changed, and all that comes after it', () => {
  const plain = fc.uint8Array({ minLength: 0, maxLength: 120 })
  fc.assert(
    fc.property(fc.constantFrom(0x86, 0x87, 0x88), plain, fc.nat(), (tag, octetsOf, where) => {
      const sender = bsp(SOME)
      const receiver = bsp(SOME)
      const sealed =
        tag === 0x88 ? sender.macOnly(0x88, octetsOf) : sender.encryptAndMac(tag as 0x86, octetsOf)
      const bent = Uint8Array.from(sealed)
      const bit = where % (8 * bent.length)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.throws(
        () => receiver.open(bent),
        (error: Error) => error.name === 'BspError',
      )
      assert.throws(() => receiver.open(sealed), /over/)
    }),
    { numRuns: 300 },
  )
})

segments('refuses every single bit of one segment of each kind', () => {
  const sealers = [
    (one: Bsp) => one.macOnly(0x88, PROFILE.subarray(0, 40)),
    (one: Bsp) => one.encryptAndMac(0x86, PROFILE.subarray(0, 40)),
  ]
  for (const seal of sealers) {
    const sealed = seal(bsp(SOME))
    for (let bit = 0; bit < 8 * sealed.length; bit++) {
      const bent = Uint8Array.from(sealed)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.throws(
        () => bsp(SOME).open(bent),
        (error: Error) => error.name === 'BspError',
      )
    }
  }
})

segments('refuses segments that are lost, doubled or in another order', () => {
  const sealed = encryptedSegments(bsp(SOME), 0x86, PROFILE)
  const [first, second, third] = sealed as readonly [Uint8Array, Uint8Array, Uint8Array]
  for (const order of [[second], [first, third], [first, first], [first, second, second]]) {
    const receiver = bsp(SOME)
    assert.throws(() => {
      for (const one of order) receiver.open(one)
    }, /MAC/)
  }
})

segments('keeps every segment within the limit, whatever the length, and gives it back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000 }), fc.boolean(), (length, isOpen) => {
      const text = Uint8Array.from({ length }, (_, i) => (i * 7) & 0xff)
      const sealed = isOpen ? macOnlySegments(bsp(SOME), text) : encryptedSegments(bsp(SOME), 0x86, text)
      const receiver = bsp(SOME)
      assert.ok(sealed.every((one) => one.length <= MAX_SEGMENT))
      assert.is(hex(Buffer.concat(sealed.map((one) => receiver.open(one)))), hex(text))
    }),
    { numRuns: 60 },
  )
  assert.is(encryptedSegments(bsp(SOME), 0x86, PROFILE)[0]?.length, MAX_SEGMENT)
  assert.is(macOnlySegments(bsp(SOME), PROFILE)[0]?.length, MAX_SEGMENT)
})

segments('seals no more than a segment holds, and nothing once its keys are gone', () => {
  const instance = bsp(SOME)
  assert.throws(() => instance.encryptAndMac(0x86, new Uint8Array(1008)), /at most 1007 octets/)
  assert.throws(() => instance.macOnly(0x88, new Uint8Array(1009)), /at most 1008 octets/)
  instance.wipe()
  assert.throws(() => instance.encryptAndMac(0x86, PROFILE.subarray(0, 1)), 'the session is over')
})

segments('takes an EID of 32 digits alone', () => {
  assert.is(hex(eidOctets('89049032123451234512345678901235')), '89049032123451234512345678901235')
  for (const eid of ['', '8904903212345123451234567890123', '8904903212345123451234567890123f'])
    assert.throws(() => eidOctets(eid), 'an EID has 32 digits')
})

segments.run()
