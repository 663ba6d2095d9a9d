import { randomFillSync } from 'node:crypto'
import { type Imsi, storeCorrupt, type Vault } from '@steeple/contracts'
import type { SimRow } from '../store/sim-store.ts'

const HEX = Buffer.from('0123456789abcdef', 'ascii')
const COMMA = Uint8Array.of(0x2c)
const NEWLINE = Uint8Array.of(0x0a)

/** Writes octets as hexadecimal ASCII, without a string in between that nobody could zero. */
export function hexAscii(octets: Uint8Array): Uint8Array {
  const text = new Uint8Array(octets.length * 2)
  octets.forEach((octet, i) => {
    text[2 * i] = HEX[octet >> 4] ?? 0
    text[2 * i + 1] = HEX[octet & 15] ?? 0
  })
  return text
}

/** The octets of hexadecimal ASCII; undefined when it is none. */
export function octetsFromHex(text: Uint8Array): Uint8Array | undefined {
  if (text.length % 2 !== 0) return undefined
  const octets = new Uint8Array(text.length / 2)
  for (let i = 0; i < octets.length; i++) {
    const high = nibble(text[2 * i] ?? 0)
    const low = nibble(text[2 * i + 1] ?? 0)
    if (high < 0 || low < 0) return undefined
    octets[i] = high * 16 + low
  }
  return octets
}

function nibble(char: number): number {
  if (char >= 0x30 && char <= 0x39) return char - 0x30
  const lower = char | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** One line of comma-separated cells that need no quotes. */
export function csvLine(cells: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(cells.flatMap((cell, i) => [cell, i === cells.length - 1 ? NEWLINE : COMMA]))
}

/** ASCII octets of a text. */
export function ascii(text: string): Uint8Array {
  const octets = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) octets[i] = text.charCodeAt(i)
  return octets
}

/** Overwrites octets with zeroes. */
export function wipe(...all: readonly Uint8Array[]): void {
  for (const octets of all) octets.fill(0)
}

const ZERO = 0x30
/** The largest multiple of 10 that an octet can hold: above it a draw would favour some digits. */
const FAIR = 250
/** Random octets. The caller wipes those that are secret. */
export function drawOctets(count: number): Uint8Array {
  return randomFillSync(new Uint8Array(count))
}

/** Random decimal digits as ASCII, each equally likely. */
export function drawDigits(count: number): Uint8Array {
  const digits = drawOctets(count)
  for (let i = 0; i < count; i++) {
    while ((digits[i] ?? 0) >= FAIR) randomFillSync(digits, i, 1)
    digits[i] = ZERO + ((digits[i] ?? 0) % 10)
  }
  return digits
}

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

export function wipeCard(card: Card): void {
  wipe(...CARD_FIELDS.map((field) => card[field]))
}

/** The sealed columns of a SIM. */
type SealedSim = Pick<SimRow, 'imsi_sealed' | 'secrets_sealed'>

/** Tells the vault which columns it seals, so that a rotation of its key finds them. */
export function registerSealed(vault: Vault): void {
  vault.register({
    table: 'sims_sim',
    key: 'hash',
    columns: ['imsi_sealed', 'secrets_sealed', 'found_sealed'],
  })
  vault.register({ table: 'sims_iccid_index', key: 'id', columns: ['key_sealed'] })
  vault.register({ table: 'sims_batch', key: 'id', columns: ['key_sealed'] })
}

/** Seals the IMSI and the card of a SIM. The card stays the caller's to wipe. */
export function sealSim(vault: Vault, hash: string, imsi: Imsi, card: Card): SealedSim {
  const rowId = `sims_sim/${hash}`
  const digits = ascii(imsi)
  const packed = packCard(card)
  try {
    return { imsi_sealed: vault.seal(digits, rowId), secrets_sealed: vault.seal(packed, rowId) }
  } finally {
    wipe(digits, packed)
  }
}

const NONE = new Uint8Array()
/** A card of which nothing is known. */
export const NO_CARD: Card = {
  ...{ ki: NONE, opc: NONE, iccid: NONE, adm1: NONE },
  ...{ pin1: NONE, puk1: NONE, pin2: NONE, puk2: NONE },
}

/** What stands in the place of a card that was destroyed, sealed as one. */
export function noCard(vault: Vault, hash: string): Uint8Array {
  return vault.seal(packCard(NO_CARD), `sims_sim/${hash}`)
}

/** The IMSI of a SIM. It goes toward an HSS, a core, a card writer or a profile that is downloaded, and nowhere else. */
export function openImsi(vault: Vault, row: Pick<SimRow, 'hash' | 'imsi_sealed'>): Imsi {
  const digits = vault.open(row.imsi_sealed, `sims_sim/${row.hash}`)
  try {
    // The vault vouches for it: `sealSim` was given one.
    return Buffer.from(digits).toString('ascii') as Imsi
  } finally {
    digits.fill(0)
  }
}

/** Seals what an HSS held of a SIM when it was taken over. */
export function sealFound(vault: Vault, hash: string, text: string): Uint8Array {
  return vault.seal(Buffer.from(text), `sims_sim/${hash}`)
}

/** What an HSS held of a SIM that was taken over; undefined for all others. Throws `store_corrupt`. */
export function openFound(
  vault: Vault,
  { hash, found_sealed: sealed }: Pick<SimRow, 'hash' | 'found_sealed'>,
): string | undefined {
  return sealed === null ? undefined : Buffer.from(vault.open(sealed, `sims_sim/${hash}`)).toString()
}

/** The card of a SIM; the caller wipes it (`wipeCard`). Throws `store_corrupt`. */
export function openCard(vault: Vault, row: Pick<SimRow, 'hash' | 'secrets_sealed'>): Card {
  return unpackCard(vault.open(row.secrets_sealed, `sims_sim/${row.hash}`))
}
