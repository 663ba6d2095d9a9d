import { milenageF1, milenageF2345 } from '@steeple/telecom'

/** SEQ may be so far above the highest one. TS 33.102 annex C.2.1. */
const DELTA = 2n ** 28n
const IND_BITS = 5n
const AMF = Buffer.from('8000', 'hex')

/** K and OPc. */
export interface CardKeys {
  readonly k: Uint8Array
  readonly opc: Uint8Array
}

/** What a card says to an authentication. */
export type CardAnswer = 'takes' | 'wrong_mac' | 'out_of_step'

/** The software of a USIM: Milenage, and an array of SEQ by index. TS 33.102 §6.3.3, annex C.2.2. */
export class Card {
  readonly #keys: CardKeys
  readonly #seqs: bigint[] = Array.from({ length: 32 }, () => 0n)

  constructor(keys: CardKeys) {
    this.#keys = keys
  }

  /** The highest SEQ that it has taken. */
  get highest(): bigint {
    return this.#seqs.toSorted((one, other) => Number(other - one))[0] ?? 0n
  }

  authenticate(rand: Uint8Array, autn: Uint8Array): CardAnswer {
    const { ak } = milenageF2345(this.#keys, rand)
    const sqnOctets = xor(autn.subarray(0, 6), ak)
    const { macA } = milenageF1(this.#keys, rand, sqnOctets, autn.subarray(6, 8))
    if (!Buffer.from(macA).equals(autn.subarray(8))) return 'wrong_mac'
    const sqn = BigInt(`0x${Buffer.from(sqnOctets).toString('hex')}`)
    const ind = Number(sqn & (2n ** IND_BITS - 1n))
    const seq = sqn >> IND_BITS
    if (seq - this.highest > DELTA || seq <= (this.#seqs[ind] ?? 0n)) return 'out_of_step'
    this.#seqs[ind] = seq
    return 'takes'
  }
}

/** AUTN of an authentication centre. TS 33.102 §6.3.2. */
export function autnOf(keys: CardKeys, rand: Uint8Array, sqn: bigint): Uint8Array {
  const octets = Buffer.from(sqn.toString(16).padStart(12, '0'), 'hex')
  const { ak } = milenageF2345(keys, rand)
  const { macA } = milenageF1(keys, rand, octets, AMF)
  return Buffer.concat([xor(octets, ak), AMF, macA])
}

function xor(one: Uint8Array, other: Uint8Array): Uint8Array {
  return one.map((octet, i) => octet ^ (other[i] ?? 0))
}
