import type { Imsi, Vault } from '@steeple/contracts'
import type { SimRow } from '../store/sim-row.ts'
import { ascii, type Card, packCard, unpackCard, wipe } from './card.ts'

/** The sealed columns of a SIM. */
export type SealedSim = Pick<SimRow, 'imsi_sealed' | 'secrets_sealed'>

/** Tells the vault which columns it seals, so that a rotation of its key finds them. */
export function registerSealed(vault: Vault): void {
  vault.register({ table: 'sims_sim', key: 'hash', columns: ['imsi_sealed', 'secrets_sealed'] })
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

/** What stands in the place of a card that was destroyed, sealed as one. */
export function noCard(vault: Vault, hash: string): Uint8Array {
  const none = new Uint8Array()
  const card = {
    ki: none,
    opc: none,
    iccid: none,
    adm1: none,
    pin1: none,
    puk1: none,
    pin2: none,
    puk2: none,
  }
  return vault.seal(packCard(card), `sims_sim/${hash}`)
}

/** The IMSI of a SIM. It goes toward an HSS, a core, a card writer or an eSIM profile and nowhere else. */
export function openImsi(vault: Vault, row: Pick<SimRow, 'hash' | 'imsi_sealed'>): Imsi {
  const digits = vault.open(row.imsi_sealed, `sims_sim/${row.hash}`)
  try {
    // The vault vouches for it: `sealSim` was given one.
    return Buffer.from(digits).toString('ascii') as Imsi
  } finally {
    digits.fill(0)
  }
}

/** The card of a SIM; the caller wipes it (`wipeCard`). Throws `store_corrupt`. */
export function openCard(vault: Vault, row: Pick<SimRow, 'hash' | 'secrets_sealed'>): Card {
  return unpackCard(vault.open(row.secrets_sealed, `sims_sim/${row.hash}`))
}
