import type { Imsi } from '@steeple/contracts'
import { imsiFrom, luhnCheckDigit, opcFrom, type Plmn } from '@steeple/telecom'
import type { Card } from '../secrets/card.ts'
import { ascii, wipe } from '../secrets/octets.ts'
import { drawDigits, drawOctets } from '../secrets/random.ts'
import { iccidIssuer } from './iccid-issuer.ts'
import { msinDigits } from './issue-plan.ts'

const KEY_OCTETS = 16
const ICCID_DIGITS = 19

/** An IMSI of the network with a random subscriber number. */
export function drawImsi(plmn: Plmn): Imsi {
  const msin = Buffer.from(drawDigits(msinDigits(plmn))).toString('ascii')
  const imsi = imsiFrom(plmn, msin)
  if (imsi === undefined) throw new RangeError('the network leaves no digits for subscriber numbers')
  return imsi
}

/** A new card: Ki, OPc from `op` (a random OP when absent), ICCID with its check digit, ADM1, PINs and PUKs. */
export function drawCard(plmn: Plmn, op: Uint8Array | undefined): Card {
  const ki = drawOctets(KEY_OCTETS)
  const ownOp = op ?? drawOctets(KEY_OCTETS)
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

/** The issuer, random digits, and the check digit: 19 digits. ITU-T E.118 §4. */
function drawIccid(plmn: Plmn): Uint8Array {
  const head = iccidIssuer(plmn)
  const body = head + Buffer.from(drawDigits(ICCID_DIGITS - 1 - head.length)).toString('ascii')
  return ascii(`${body}${luhnCheckDigit(body) ?? 0}`)
}
