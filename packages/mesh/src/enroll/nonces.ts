import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, type Reader, rowSum, type SessionKeys, type Tx } from '@steeple/contracts'
import { NOTES } from './rows.ts'

/** How long a nonce is good for. */
export const NONCE_MS = 60_000
const NONCE_BYTES = 16
const MAC_BYTES = 32
/** Of times in names, so that they sort as numbers do. */
const TIME_DIGITS = 15
const CLAIM = `insert into mesh_note (name, value, row_sum) values (:name, :value, :row_sum)
  on conflict (name) do nothing`
const FORGET = "delete from mesh_note where name >= 'nonce ' and name < :before"

/**
 * Nonces that nobody need keep: a time and random octets under a key that the instances of a node share, so that any of them
 * takes what another gave. Each is good once: used ones are rows for as long as they would be good.
 */
export interface Nonces {
  make(): string
  /** Whether it was given within the last minute, and is not used. */
  isGood(reader: Reader, nonce: string): Promise<boolean>
  /** Uses it up; false when another transaction was faster. */
  claim(tx: Tx, nonce: string): Promise<boolean>
}

/** Nonces over the notes of the store. */
export function createNonces(clock: Pick<Clock, 'nowMs'>, keys: SessionKeys): Nonces {
  const octets = Buffer.from(keys.derive('mesh renewal nonces'))
  const key = createSecretKey(octets)
  octets.fill(0)
  const mac = (body: Uint8Array): Buffer => createHmac('sha256', key).update(body).digest()
  const givenMs = (nonce: string): number | undefined => {
    const all = Buffer.from(nonce, 'base64url')
    // One nonce has one text: another one of the same octets would be another row.
    if (all.length !== 8 + NONCE_BYTES + MAC_BYTES || all.toString('base64url') !== nonce) return undefined
    const body = all.subarray(0, 8 + NONCE_BYTES)
    return timingSafeEqual(mac(body), all.subarray(8 + NONCE_BYTES))
      ? Number(body.readBigUInt64BE(0))
      : undefined
  }
  return {
    make: () => {
      const body = Buffer.concat([Buffer.alloc(8), randomBytes(NONCE_BYTES)])
      body.writeBigUInt64BE(BigInt(Math.round(clock.nowMs())), 0)
      return Buffer.concat([body, mac(body)]).toString('base64url')
    },
    isGood: async (reader, nonce) => {
      const atMs = givenMs(nonce)
      // Clocks of two instances differ by little, and either may be ahead.
      if (atMs === undefined || Math.abs(clock.nowMs() - atMs) > NONCE_MS) return false
      return (await NOTES.find(reader, { name: nameOf(atMs, nonce) })) === undefined
    },
    claim: async (tx, nonce) => {
      const atMs = givenMs(nonce)
      if (atMs === undefined) return false
      await tx.run(FORGET, { before: `nonce ${timeText(Math.max(0, clock.nowMs() - 2 * NONCE_MS))}` })
      const row = { name: nameOf(atMs, nonce), value: '' }
      return (await tx.run(CLAIM, { ...row, row_sum: rowSum(NOTES.columns, row) })) > 0
    },
  }
}

function nameOf(atMs: number, nonce: string): string {
  return `nonce ${timeText(atMs)} ${nonce}`
}

function timeText(ms: number): string {
  return String(Math.round(ms)).padStart(TIME_DIGITS, '0')
}
