import { storeCorrupt } from '@steeple/contracts'
import { wipe } from './octets.ts'

/** What a card holds. Ki and OPc are 16 octets; the rest ASCII digits, empty when not known. */
export interface Card {
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  readonly iccid: Uint8Array
  readonly adm1: Uint8Array
  readonly pin1: Uint8Array
  readonly puk1: Uint8Array
  readonly pin2: Uint8Array
  readonly puk2: Uint8Array
}

/** The fields of a card in the order in which they are packed. */
export const CARD_FIELDS: readonly (keyof Card)[] = [
  'ki',
  'opc',
  'iccid',
  'adm1',
  'pin1',
  'puk1',
  'pin2',
  'puk2',
]

const VERSION = 1

/** One buffer of a card: a version, then each field with its length before it. */
export function packCard(card: Card): Uint8Array {
  const length = CARD_FIELDS.reduce((sum, field) => sum + 1 + card[field].length, 1)
  const packed = new Uint8Array(length)
  packed[0] = VERSION
  let at = 1
  for (const field of CARD_FIELDS) {
    packed[at] = card[field].length
    packed.set(card[field], at + 1)
    at += 1 + card[field].length
  }
  return packed
}

/** The card in a packed buffer, as views on it: wiping the buffer wipes the card. Throws `store_corrupt`. */
export function unpackCard(packed: Uint8Array): Card {
  const parts: Uint8Array[] = []
  let at = 1
  for (const _ of CARD_FIELDS) {
    const length = packed[at] ?? 0
    parts.push(packed.subarray(at + 1, at + 1 + length))
    at += 1 + length
  }
  const [ki, opc, iccid, adm1, pin1, puk1, pin2, puk2] = parts
  const isWhole = packed[0] === VERSION && at === packed.length
  if (!isWhole || !ki || !opc || !iccid || !adm1 || !pin1 || !puk1 || !pin2 || !puk2)
    throw storeCorrupt('sims_sim')
  return { ki, opc, iccid, adm1, pin1, puk1, pin2, puk2 }
}

/** Overwrites every field. */
export function wipeCard(card: Card): void {
  wipe(...CARD_FIELDS.map((field) => card[field]))
}
