import type { Imsi } from '@steeple/contracts'
import type { Card } from '../secrets/card.ts'
import { ascii, csvLine, hexAscii, wipe } from '../secrets/card.ts'

/** A SIM on its way to a card. */
export interface NewCard {
  readonly imsi: Imsi
  readonly card: Card
}

/** The columns of `cards.csv`. */
export const CARD_COLUMNS: readonly string[] = [
  'imsi',
  'iccid',
  'ki',
  'opc',
  'adm1',
  'pin1',
  'puk1',
  'pin2',
  'puk2',
]

/** The plain `cards.csv` of a batch, built without strings. The caller wipes it. */
export function cardsCsv(cards: readonly NewCard[]): Uint8Array {
  const lines = cards.map(cardLine)
  const csv = new Uint8Array(Buffer.concat([ascii(`${CARD_COLUMNS.join(',')}\n`), ...lines]))
  wipe(...lines)
  return csv
}

function cardLine({ imsi, card }: NewCard): Uint8Array {
  const ki = hexAscii(card.ki)
  const opc = hexAscii(card.opc)
  const { iccid, adm1, pin1, puk1, pin2, puk2 } = card
  const line = csvLine([ascii(imsi), iccid, ki, opc, adm1, pin1, puk1, pin2, puk2])
  wipe(ki, opc)
  return line
}
