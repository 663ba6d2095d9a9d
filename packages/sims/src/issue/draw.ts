import { randomBytes } from 'node:crypto'
import type { Imsi } from '@steeple/contracts'
import { imsiFrom, luhnCheckDigit, opcFrom, type Plmn } from '@steeple/telecom'
import type { Card } from '../secrets/card.ts'
import { wipe } from '../secrets/octets.ts'
import { msinDigits } from './issue-plan.ts'

const ZERO = 0x30
const KEY_OCTETS = 16
/** The largest multiple of 10 that an octet can hold: above it a draw would favour some digits. */
const FAIR = 250
/** Octets of a card with some to spare for digits that are drawn again. */
const POOL = 112

/** Octets of the system's generator, fetched some at a time: each way there costs more than a card's worth of them. */
class Draw {
  #pool: Uint8Array = new Uint8Array()
  #at = 0

  octet(): number {
    if (this.#at === this.#pool.length) {
      this.#pool = randomBytes(POOL)
      this.#at = 0
    }
    const octet = this.#pool[this.#at] ?? 0
    this.#pool[this.#at++] = 0
    return octet
  }

  octets(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.octet())
  }

  /** Decimal digits as ASCII, each equally likely. */
  digits(count: number): Uint8Array {
    const digits = new Uint8Array(count)
    let filled = 0
    while (filled < count) {
      const octet = this.octet()
      if (octet < FAIR) digits[filled++] = ZERO + (octet % 10)
    }
    return digits
  }

  /** What was not used is nobody's. */
  end(): void {
    wipe(this.#pool)
  }
}

/** Random decimal digits as ASCII, each equally likely. */
export function drawDigits(count: number): Uint8Array {
  return drawn((draw) => draw.digits(count))
}

function drawn<T>(work: (draw: Draw) => T): T {
  const draw = new Draw()
  try {
    return work(draw)
  } finally {
    draw.end()
  }
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
  return drawn((draw) => {
    const ki = draw.octets(KEY_OCTETS)
    const ownOp = op ?? draw.octets(KEY_OCTETS)
    const opc = opcFrom(ki, ownOp)
    if (op === undefined) wipe(ownOp)
    return {
      ki,
      opc,
      iccid: iccidOf(plmn, draw),
      adm1: draw.digits(8),
      pin1: draw.digits(4),
      puk1: draw.digits(8),
      pin2: draw.digits(4),
      puk2: draw.digits(8),
    }
  })
}

/** 89, MCC, MNC as three digits, ten random digits, and the check digit: 19 digits. ITU-T E.118 §4. */
function iccidOf(plmn: Plmn, draw: Draw): Uint8Array {
  const head = Buffer.from(`89${plmn.mcc}${plmn.mnc.padStart(3, '0')}`, 'ascii')
  const body = Buffer.concat([head, draw.digits(10)])
  const check = luhnCheckDigit(body.toString('ascii')) ?? 0
  return new Uint8Array([...body, ZERO + check])
}
