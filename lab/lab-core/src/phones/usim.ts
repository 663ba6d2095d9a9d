import { type MilenageKeys, milenageF1, milenageF2345 } from '@steeple/telecom'
import { RESYNC_AMF, sqnFrom, sqnOctets, xored } from '../hss/vector.ts'
import type { AuthAnswer } from '../mme/mme.ts'

/** The highest SEQ taken so far for each of the 32 values of IND. TS 33.102 annex C.2.1. */
export type SeqArray = readonly number[]

/** A USIM: keys and the SQNs that it has seen. */
export interface Usim {
  authenticate(rand: Uint8Array, autn: Uint8Array): AuthAnswer
  /** To be kept over a restart. */
  seqs(): SeqArray
}

const IND_BITS = 5n
const IND_COUNT = 32
/** How far SEQ may jump ahead at once. TS 33.102 annex C.2.1, C.3.2. */
const SEQ_JUMP_MAX = 2 ** 28
/** The separation bit of AMF: a vector for E-UTRAN. TS 33.401 §6.1.2. */
const SEPARATION_BIT = 0x80

/** A USIM as TS 33.102 §6.3.3 has it; a fresh one has taken SEQ 0 everywhere. */
export function makeUsim(keys: MilenageKeys, known: SeqArray = []): Usim {
  const seqs = Array.from({ length: IND_COUNT }, (_none, ind) => known[ind] ?? 0)
  return {
    seqs: () => [...seqs],
    authenticate: (rand, autn) => {
      const { res, ak, akStar } = milenageF2345(keys, rand)
      const sqn = xored(autn.subarray(0, 6), ak)
      const amf = autn.subarray(6, 8)
      const { macA } = milenageF1(keys, rand, sqn, amf)
      if (!Buffer.from(macA).equals(autn.subarray(8))) return { kind: 'mac_failure' }
      if (((amf[0] ?? 0) & SEPARATION_BIT) === 0) return { kind: 'not_eps' }
      if (take(seqs, sqnFrom(sqn))) return { kind: 'res', res }
      const held = sqnOctets(highestSqn(seqs))
      const { macS } = milenageF1(keys, rand, held, RESYNC_AMF)
      return { kind: 'synch_failure', auts: Buffer.concat([xored(held, akStar), macS]) }
    },
  }
}

/** Takes an SQN that is fresh and not too far ahead. TS 33.102 annex C.2.2. */
function take(seqs: number[], sqn: bigint): boolean {
  const seq = Number(sqn >> IND_BITS)
  const ind = Number(sqn) % IND_COUNT
  const isFresh = seq > (seqs[ind] ?? 0) && seq - Math.max(...seqs) <= SEQ_JUMP_MAX
  if (isFresh) seqs[ind] = seq
  return isFresh
}

function highestSqn(seqs: readonly number[]): bigint {
  const seq = Math.max(...seqs)
  return (BigInt(seq) << IND_BITS) | BigInt(seqs.indexOf(seq))
}
