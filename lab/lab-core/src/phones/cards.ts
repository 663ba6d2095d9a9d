import { type ImsiHash, jsonIn } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'

/** What a phone needs of a card. Keys are 32 hex digits. */
export interface LabCard {
  readonly imsi: string
  readonly ki: string
  readonly opc: string
}

/** Cards that cannot be read. The message holds nothing of them. */
export class CardsError extends Error {}

const KEY = /^[0-9a-f]{32}$/i
const CARDS_MAX = 10_000

/**
 * The cards that `svc sim export BATCH --format json` prints. Lines before the list (npm's) are skipped.
 * Throws `CardsError`.
 */
export function readCards(text: string): readonly LabCard[] {
  const start = /^\[/m.exec(text)?.index
  const list = start === undefined ? undefined : jsonIn(text.slice(start))
  if (!Array.isArray(list))
    throw new CardsError('expected the JSON that svc sim export BATCH --format json prints')
  if (list.length > CARDS_MAX) throw new CardsError(`at most ${CARDS_MAX} cards at a time`)
  return list.map(cardOf)
}

/** The name of a phone: the public identifier of its subscriber. */
export function phoneName(imsi: string): ImsiHash {
  const parsedImsi = parseImsi(imsi)
  if (parsedImsi === undefined) throw new CardsError('an IMSI must be 6 to 15 digits')
  return imsiHash(parsedImsi)
}

function cardOf(item: unknown, index: number): LabCard {
  const { imsi, ki, opc } = (item ?? {}) as Record<string, unknown> // of a stranger: each part is checked
  const isCard =
    typeof imsi === 'string' &&
    parseImsi(imsi) !== undefined &&
    typeof ki === 'string' &&
    KEY.test(ki) &&
    typeof opc === 'string' &&
    KEY.test(opc)
  if (!isCard) throw new CardsError(`card ${index + 1} needs imsi, ki and opc (32 hex digits each)`)
  return { imsi, ki: ki.toLowerCase(), opc: opc.toLowerCase() }
}
