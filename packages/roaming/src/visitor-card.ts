import { type Imsi, isRecord, jsonIn, type Subscriber, storeCorrupt } from '@steeple/contracts'

/** What an HSS needs of a visitor, but for its SQN and whether it is blocked. */
export type VisitorCard = Omit<Subscriber, 'sqn' | 'isBlocked' | 'found'>

/** One buffer of it: the caller zeroes that. */
export function packCard({ imsi, ki, opc, apns, ambrBps, msisdn }: VisitorCard): Uint8Array {
  const { up, down } = ambrBps
  const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')
  return Buffer.from(
    JSON.stringify({ imsi, ki: hex(ki), opc: hex(opc), apns, up, down, msisdn: msisdn ?? null }),
  )
}

const KEY = /^[0-9a-f]{32}$/

/** The card in a buffer; the caller zeroes its keys. Undefined for what is none. */
export function readCard(packed: Uint8Array): VisitorCard | undefined {
  const value = jsonIn(Buffer.from(packed).toString())
  const { imsi, ki, opc, apns, up, down, msisdn } = isRecord(value) ? value : {}
  const isWhole =
    typeof imsi === 'string' &&
    /^[0-9]{6,15}$/.test(imsi) &&
    typeof ki === 'string' &&
    KEY.test(ki) &&
    typeof opc === 'string' &&
    KEY.test(opc) &&
    Array.isArray(apns) &&
    apns.every((apn) => typeof apn === 'string') &&
    Number.isSafeInteger(up) &&
    Number.isSafeInteger(down)
  if (!isWhole) return undefined
  return {
    imsi: imsi as Imsi,
    ki: Buffer.from(ki, 'hex'),
    opc: Buffer.from(opc, 'hex'),
    apns,
    ambrBps: { up: Number(up), down: Number(down) },
    ...(typeof msisdn === 'string' ? { msisdn } : {}),
  }
}

/** The card of a row that this box has sealed. Throws `store_corrupt`. */
export function unpackCard(packed: Uint8Array): VisitorCard {
  const card = readCard(packed)
  if (card === undefined) throw storeCorrupt('roaming_visitor')
  return card
}

export function wipeCard({ ki, opc }: Pick<VisitorCard, 'ki' | 'opc'>): void {
  ki.fill(0)
  opc.fill(0)
}
