import { randomBytes } from 'node:crypto'
import type { Imsi } from '@steeple/contracts'
import { imsiFrom, luhnCheckDigit, opcFrom, type Plmn } from '@steeple/telecom'
import type { Card } from '../secrets/card.ts'
import { wipe } from '../secrets/octets.ts'
import { msinDigits } from './issue-plan.ts'

const ZERO = 0x30
/** The largest multiple of 10 that an octet can hold: above it a draw would favour some digits. */
const FAIR = 250

/** Random decimal digits as ASCII, each equally likely. */
export function drawDigits(count: number): Uint8Array {
  const digits = new Uint8Array(count)
  let filled = 0
  while (filled < count) {
    const octets = randomBytes(count - filled + 8)
    for (const octet of octets) if (octet < FAIR && filled < count) digits[filled++] = ZERO + (octet % 10)
    wipe(octets)
  }
  return digits
}

/** An IMSI of the network with a random subscriber number. */
export function drawImsi(plmn: Plmn): Imsi {
  const msin = Buffer.from(drawDigits(msinDigits(plmn))).toString('ascii')
  const imsi = imsiFrom(plmn, msin)
  if (imsi === undefined) throw new RangeError('the network leaves no digits for subscriber numbers')
  return imsi
}

/** A new card: Ki, OPc from `op` (a random OP when absent), ICCID with its check digit, ADM1, PINs and PUKs. */
export function drawCard(plmn: Plmn, op: Uint8Array | undefined): Card {
  const ki = new Uint8Array(randomBytes(16))
  const ownOp = op ?? new Uint8Array(randomBytes(16))
  const opc = opcFrom(ki, ownOp)
  if (op === undefined) wipe(ownOp)
  return {
    ki,
    opc,
    iccid: drawIccid(plmn),
    adm1: drawDigits(8),
    pin1: drawDigits(4),
    puk1: drawDigits(8),
    pin2: drawDigits(4),
    puk2: drawDigits(8),
  }
}

/** 89, MCC, MNC as three digits, ten random digits, and the check digit: 19 digits. ITU-T E.118 §4. */
function drawIccid(plmn: Plmn): Uint8Array {
  const head = Buffer.from(`89${plmn.mcc}${plmn.mnc.padStart(3, '0')}`, 'ascii')
  const body = Buffer.concat([head, drawDigits(10)])
  const check = luhnCheckDigit(body.toString('ascii')) ?? 0
  return new Uint8Array([...body, ZERO + check])
}
