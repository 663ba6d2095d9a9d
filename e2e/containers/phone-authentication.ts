import { createHash, createHmac } from 'node:crypto'
import { milenageF1, milenageF2345 } from '@steeple/telecom'
import type { KnownCard } from './provisioning.ts'

/** A challenge as the AUSF gives it, hexadecimal. TS 29.509 §6.1.6.2.5. */
export interface Challenge {
  readonly rand: string
  readonly autn: string
  readonly hxresStar: string
}

/** What a card and its phone make of a challenge, hexadecimal. */
export interface Answered {
  readonly resStar: string
  readonly kseaf: string
  /** Under which number the network asks. */
  readonly sqn: string
  /** Whether the network's own code and the digest of the answer are right. */
  readonly isOfTheNetwork: boolean
}

/** A phone's side of 5G AKA. `network`: the serving network's name, TS 24.501 §9.12.1. TS 33.501 annex A. */
export function answerChallenge(card: KnownCard, challenge: Challenge, network: string): Answered {
  const keys = { k: Buffer.from(card.ki, 'hex'), opc: Buffer.from(card.opc, 'hex') }
  const [rand, autn] = [Buffer.from(challenge.rand, 'hex'), Buffer.from(challenge.autn, 'hex')]
  const { res, ck, ik, ak } = milenageF2345(keys, rand)
  const hidden = autn.subarray(0, 6)
  const sqn = hidden.map((octet, i) => octet ^ (ak[i] ?? 0))
  const { macA } = milenageF1(keys, rand, sqn, autn.subarray(6, 8))
  const cipherAndIntegrity = Buffer.concat([ck, ik])
  const name = Buffer.from(network)
  const resStar = derived(cipherAndIntegrity, 0x6b, [name, rand, Buffer.from(res)]).subarray(16)
  const kausf = derived(cipherAndIntegrity, 0x6a, [name, hidden])
  const digest = createHash('sha256').update(rand).update(resStar).digest().subarray(16)
  return {
    resStar: resStar.toString('hex'),
    kseaf: derived(kausf, 0x6c, [name]).toString('hex'),
    sqn: Buffer.from(sqn).toString('hex'),
    isOfTheNetwork:
      autn.subarray(8).equals(Buffer.from(macA)) && digest.toString('hex') === challenge.hxresStar,
  }
}

/** AUTS: what a card that is at `sqn` says to a challenge whose number it has seen already, hexadecimal. TS 33.102 §6.3.3. */
export function resynchronisation(
  card: KnownCard,
  challenge: Challenge,
  sqn: string,
): { readonly rand: string; readonly auts: string } {
  const keys = { k: Buffer.from(card.ki, 'hex'), opc: Buffer.from(card.opc, 'hex') }
  const [rand, own] = [Buffer.from(challenge.rand, 'hex'), Buffer.from(sqn, 'hex')]
  const { akStar } = milenageF2345(keys, rand)
  const hidden = own.map((octet, i) => octet ^ (akStar[i] ?? 0))
  const { macS } = milenageF1(keys, rand, own, Buffer.alloc(2))
  return { rand: challenge.rand, auts: Buffer.concat([hidden, macS]).toString('hex') }
}

/** The key derivation function, TS 33.220 annex B.2. */
function derived(key: Buffer, code: number, parts: readonly Buffer[]): Buffer {
  const mac = createHmac('sha256', key).update(Buffer.of(code))
  for (const part of parts) mac.update(part).update(Buffer.of(part.length >> 8, part.length & 0xff))
  return mac.digest()
}
