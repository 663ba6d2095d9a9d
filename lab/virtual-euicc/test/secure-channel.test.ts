import { createHash } from 'node:crypto'
import type { RspCurve } from '@steeple/sgp22'
import { readOne } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { BPP_ERROR, type Refusal } from '../src/codes.ts'
import { keyMaterial, oneTimeKey } from '../src/ecc.ts'
import { hashedConfirmationCode } from '../src/lpa.ts'
import { fromHex } from '../src/octets.ts'
import { type ChannelKeys, cmac, type SecureChannel, secureChannel } from '../src/secure-channel.ts'
import { fixture } from './support/pki.ts'
import { sealing } from './support/sealing.ts'

const channel = suite('virtual-euicc/secure-channel')

interface Vector {
  readonly otSK_DP_hex: string
  readonly otSK_EUICC_hex: string
  readonly otPK_DP: string
  readonly otPK_EUICC: string
  readonly sharedSecret_x: string
  readonly hostId: string
  readonly eid: string
  readonly initialMacChainingValue: string
  readonly 'S-ENC': string
  readonly 'S-MAC': string
  readonly configureIsdp_plain: string
  readonly firstSequenceOf87: readonly string[]
  readonly storeMetadata_plain: string
  readonly sequenceOf88: readonly string[]
  readonly ppk: {
    readonly ppkEnc: string
    readonly ppkCmac: string
    readonly initialMacChainingValue: string
  }
  readonly replaceSessionKeys_plain: string
  readonly secondSequenceOf87: readonly string[]
  readonly sequenceOf86_with_ppk: readonly string[]
  readonly sequenceOf86_with_session_keys: readonly string[]
}
interface Kat {
  readonly prime256v1: Vector
  readonly brainpoolP256r1: Vector
  readonly confirmationCode: {
    readonly code: string
    readonly transactionId: string
    readonly hashCc: string
  }
  readonly thirdPartyKdf: readonly Readonly<Record<string, string>>[]
}
const kat = JSON.parse(Buffer.from(fixture('bsp-kat.json')).toString()) as Kat
const hex = (octets: Uint8Array) => Buffer.from(octets).toString('hex')
const text = Uint8Array.from({ length: 2500 }, (_none, i) => i & 0xff)

function keysOf(vector: Vector, curve: RspCurve): ChannelKeys {
  const own = oneTimeKey(curve, fromHex(vector.otSK_EUICC_hex))
  assert.is(hex(own.point), vector.otPK_EUICC)
  const secret = own.agree(fromHex(vector.otPK_DP))
  assert.is(hex(secret), vector.sharedSecret_x)
  const hostId = fromHex(vector.hostId)
  const info = Buffer.concat([
    fromHex('8810'),
    Uint8Array.of(hostId.length),
    hostId,
    fromHex('10'),
    fromHex(vector.eid),
  ])
  const material = keyMaterial(secret, info, 48)
  assert.is(hex(material), vector.initialMacChainingValue + vector['S-ENC'] + vector['S-MAC'])
  return {
    chaining: material.subarray(0, 16),
    encryption: material.subarray(16, 32),
    mac: material.subarray(32),
  }
}

for (const [curve, vector] of [
  ['P-256', kat.prime256v1],
  ['brainpoolP256r1', kat.brainpoolP256r1],
] as const) {
  channel(`opens the known answers on ${curve}`, () => {
    const keys = keysOf(vector, curve)
    const opened = (kind: 'ppk' | 'session'): Uint8Array => {
      const session = secureChannel(keys)
      for (const one of vector.firstSequenceOf87)
        assert.is(hex(session.decrypted(fromHex(one))), vector.configureIsdp_plain)
      for (const one of vector.sequenceOf88)
        assert.is(hex(session.verified(fromHex(one))), vector.storeMetadata_plain)
      if (kind === 'session')
        return Buffer.concat(
          vector.sequenceOf86_with_session_keys.map((one) => session.decrypted(fromHex(one))),
        )
      for (const one of vector.secondSequenceOf87)
        assert.is(hex(session.decrypted(fromHex(one))), vector.replaceSessionKeys_plain)
      const ppk = secureChannel({
        chaining: fromHex(vector.ppk.initialMacChainingValue),
        encryption: fromHex(vector.ppk.ppkEnc),
        mac: fromHex(vector.ppk.ppkCmac),
      })
      return Buffer.concat(vector.sequenceOf86_with_ppk.map((one) => ppk.decrypted(fromHex(one))))
    }
    assert.is(hex(opened('ppk')), hex(text))
    assert.is(hex(opened('session')), hex(text))
  })
}

channel('derives the keys of two other implementations', () => {
  for (const one of kat.thirdPartyKdf) {
    const info = `881008${one.hostId}10${one.eid}`
    const material = keyMaterial(fromHex(one.sharedSecret ?? ''), fromHex(info), 48)
    assert.is(hex(material), `${one.mcv}${one['S-ENC']}${one['S-MAC']}`)
  }
})

channel('computes the CMAC of RFC 4493', () => {
  const key = fromHex('2b7e151628aed2a6abf7158809cf4f3c')
  const message = fromHex(
    '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710',
  )
  const macs = {
    0: 'bb1d6929e95937287fa37d129b756746',
    16: '070a16b46b4d4144f79bdd9dd04a287c',
    40: 'dfa66747de9ae63030ca32611497c827',
    64: '51f0bebf7e3b9d92fc49741779363cfe',
  }
  for (const [octets, mac] of Object.entries(macs))
    assert.is(hex(cmac(key, message.subarray(0, Number(octets)))), mac)
})

channel('hashes a confirmation code as the known answer has it', () => {
  const { code, transactionId, hashCc } = kat.confirmationCode
  assert.is(hex(hashedConfirmationCode(code, fromHex(transactionId))), hashCc)
})

channel('refuses each flipped bit of a segment, and segments out of order', () => {
  const keys = {
    chaining: new Uint8Array(16),
    encryption: new Uint8Array(16).fill(1),
    mac: new Uint8Array(16).fill(2),
  }
  const segment = sealing(keys).seal(0x86, Uint8Array.of(1, 2, 3))
  for (let bit = 0; bit < segment.length * 8; bit++) {
    const changed = Uint8Array.from(segment)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7))
    assert.is(reason(() => secureChannel(keys).decrypted(changed)) > 0, true, `bit ${bit}`)
  }
  const two = sealing(keys)
  const [first, second] = [two.seal(0x86, Uint8Array.of(1)), two.seal(0x86, Uint8Array.of(2))]
  assert.is(
    reason(() => secureChannel(keys).decrypted(second)),
    BPP_ERROR.scp03tSecurityError,
  )
  const repeated = secureChannel(keys)
  repeated.decrypted(first)
  assert.is(
    reason(() => repeated.decrypted(first)),
    BPP_ERROR.scp03tSecurityError,
  )
})

channel('takes segments of 1020 octets and none that are longer', () => {
  const keys = { chaining: new Uint8Array(16), encryption: new Uint8Array(16), mac: new Uint8Array(16) }
  const longest = sealing(keys).seal(0x86, new Uint8Array(1007).fill(7))
  assert.is(longest.length, 1020)
  assert.is(readOne(longest).tag, 0x86)
  const digest = (octets: Uint8Array) => createHash('sha256').update(octets).digest('hex')
  assert.is(digest(secureChannel(keys).decrypted(longest)), digest(new Uint8Array(1007).fill(7)))
  const longer = sealing(keys).seal(0x86, new Uint8Array(1008))
  assert.is(
    reason(() => secureChannel(keys).decrypted(longer)),
    BPP_ERROR.scp03tStructureError,
  )
})

const KINDS = [0x86, 0x87, 0x88] as const
const SOME = {
  chaining: new Uint8Array(16).fill(3),
  encryption: new Uint8Array(16).fill(4),
  mac: new Uint8Array(16).fill(5),
}
const open = (session: SecureChannel, segment: Uint8Array): Uint8Array =>
  segment[0] === 0x88 ? session.verified(segment) : session.decrypted(segment)
/** Texts of up to so many octets, each in a segment of any kind. */
const textsUpTo = (maxLength: number) =>
  fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.uint8Array({ maxLength, size: 'max' })), {
    minLength: 3,
    maxLength: 5,
  })
const sealed = (texts: readonly (readonly [number, Uint8Array])[]): readonly Uint8Array[] => {
  const sender = sealing(SOME)
  return texts.map(([kind, one]) => sender.seal(kind, one))
}

channel('gives back a text of any length from a segment of any kind', () => {
  fc.assert(
    fc.property(textsUpTo(1007), (texts) => {
      const session = secureChannel(SOME)
      assert.equal(
        sealed(texts).map((one) => hex(open(session, one))),
        texts.map(([, one]) => hex(one)),
      )
    }),
    { numRuns: 40 },
  )
})

channel('refuses a segment of any kind that is changed, lost, doubled or in another place', () => {
  const changes = fc.constantFrom('changed', 'lost', 'doubled', 'swapped')
  fc.assert(
    fc.property(textsUpTo(60), changes, fc.nat(), fc.nat(), (texts, change, place, where) => {
      const all = [...sealed(texts)]
      // The last one that is lost is missed by whoever counts what a package has.
      const at = place % (all.length - 1)
      const [one = new Uint8Array(), next = one] = all.slice(at)
      const bent = Uint8Array.from(one)
      const bit = where % (8 * bent.length)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7))
      const others = { changed: [bent, next], lost: [next], doubled: [one, one, next], swapped: [next, one] }
      all.splice(at, 2, ...others[change])
      const session = secureChannel(SOME)
      assert.is(reason(() => all.map((each) => open(session, each))) > 0, true, change)
    }),
    { numRuns: 300 },
  )
})

function reason(run: () => unknown): number {
  try {
    run()
  } catch (error) {
    return (error as Refusal).code
  }
  return 0
}

channel.run()
