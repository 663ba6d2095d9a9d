import { type Imsi, type Subscriber, validationFailed } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'

/** What a session's NAS AMBR holds: 16 bits, read as signed. */
const SESSION_VALUE_MAX = 32_767
const UNITS: readonly (readonly [name: string, factor: number])[] = [
  ['bps', 1],
  ['Kbps', 1e3],
  ['Mbps', 1e6],
  ['Gbps', 1e9],
  ['Tbps', 1e12],
]
const TEXT = /^([0-9]+(?:\.[0-9]+)?) (bps|Kbps|Mbps|Gbps|Tbps)$/

/**
 * A session's rate as `<number> <unit>`: the smallest unit in which it fits 16 bits, rounded down, at least 1.
 *
 * `bps` is a whole number above 0; throws `validation_failed` otherwise.
 */
export function sessionRate(bps: number): string {
  if (!Number.isSafeInteger(bps) || bps <= 0) {
    throw validationFailed('an AMBR must be a whole number of bit/s above 0')
  }
  for (const [name, factor] of UNITS) {
    if (bps / factor < SESSION_VALUE_MAX + 1) return `${Math.floor(bps / factor)} ${name}`
  }
  throw validationFailed(`an AMBR can be ${SESSION_VALUE_MAX} Tbit/s at most`)
}

/** A subscriber's rate, exact: the session's text when that is, else with decimals. */
export function ueRate(bps: number): string {
  const short = sessionRate(bps)
  if (parseRate(short) === bps) return short
  const [name, factor] = UNITS.findLast(([, unit]) => bps >= unit) ?? ['bps', 1]
  const digits = String(bps).padStart(String(factor).length, '0')
  const whole = digits.slice(0, digits.length - (String(factor).length - 1))
  const rest = digits.slice(whole.length).replace(/0+$/, '')
  return rest === '' ? `${whole} ${name}` : `${whole}.${rest} ${name}`
}

/** Bit/s of a stored rate; 0 for what the core cannot read. */
export function parseRate(text: unknown): number {
  const match = typeof text === 'string' ? TEXT.exec(text) : null
  const factor = UNITS.find(([name]) => name === match?.[2])?.[1]
  if (match === null || factor === undefined) return 0
  return Math.round(Number(match[1]) * factor)
}

/** Whether two values of documents say the same: numbers of any type by value, documents in any order of their fields. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    const [left, right] = [numberOf(a), numberOf(b)]
    return left !== undefined && left === right
  }
  const [left, right] = [numberOf(a), numberOf(b)]
  if (left !== undefined || right !== undefined) return left === right
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [ours, theirs] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return (
    ours.size === theirs.size &&
    [...ours].every(([key, value]) => theirs.has(key) && same(value, theirs.get(key)))
  )
}

/** A number however it is stored; undefined for anything else, text of digits too. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'object' || value === null) return undefined
  const { _bsontype: type } = value as { _bsontype?: unknown } // a class of `bson` names itself
  return type === 'Int32' || type === 'Double' || type === 'Long' ? Number(String(value)) : undefined
}

/** A value as an embedded document; an empty one for anything else. */
export function docOf(value: unknown): Readonly<Record<string, unknown>> {
  const isDoc =
    typeof value === 'object' && value !== null && !Array.isArray(value) && numberOf(value) === undefined
  return isDoc ? (value as Readonly<Record<string, unknown>>) : {} // checked before
}

/** A value as a list; an empty one for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** 16 octets of 32 hexadecimal digits; undefined for anything else. */
export function octetsOf(text: unknown): Uint8Array | undefined {
  const isKey = typeof text === 'string' && /^[0-9a-fA-F]{32}$/.test(text)
  return isKey ? Uint8Array.from(Buffer.from(text, 'hex')) : undefined
}

/** The collections that hold a subscriber. */
export const COLLECTIONS = {
  auth: 'subscriptionData.authenticationData.authenticationSubscription',
  webAuth: 'subscriptionData.authenticationData.webAuthenticationSubscription',
  am: 'subscriptionData.provisionedData.amData',
  selection: 'subscriptionData.provisionedData.smfSelectionSubscriptionData',
  sm: 'subscriptionData.provisionedData.smData',
  policyAm: 'policyData.ues.amData',
  policySm: 'policyData.ues.smData',
  charging: 'policyData.ues.chargingData',
  flow: 'policyData.ues.flowRule',
  qos: 'policyData.ues.qosFlow',
  identity: 'subscriptionData.identityData',
} as const

/** A document whose key begins so is out of the core's sight: that is how sessions are barred and put back. */
const ASIDE = 'suspended-'

/** The key of a subscriber's documents. */
export function ueIdOf(imsi: Imsi): string {
  return `imsi-${imsi}`
}

/** The key of a document that has been put aside. */
export function asideIdOf(imsi: Imsi): string {
  return `${ASIDE}${ueIdOf(imsi)}`
}

/** Whose a key is, and whether its document was put aside. */
export function readUeId(ueId: unknown): { readonly imsi: Imsi; readonly isAside: boolean } | undefined {
  const match = typeof ueId === 'string' ? /^(suspended-)?imsi-([0-9]{6,15})$/.exec(ueId) : null
  if (match?.[2] === undefined) return undefined
  return { imsi: match[2] as Imsi, isAside: match[1] !== undefined } // digits by the pattern
}

/** An S-NSSAI as a key: two hex digits of SST, then SD. */
export function snssaiKey({ sst, sd }: Snssai): string {
  return `${sst.toString(16).padStart(2, '0')}${sd ?? ''}`
}

/** A DNN as a key of a policy: the core looks for it so. Session data has the DNN as it is, dots too. */
export function policyDnnKey(apn: string): string {
  return apn.replaceAll('.', '_')
}

export function shortName(collection: string): string {
  const last = collection.slice(collection.lastIndexOf('.') + 1)
  return collection.startsWith('policyData.') ? `policy ${last}` : last
}

/** How a release spells its authentication documents: `v3` up to 3.4, `v4` from 4.0 on. */
export type Spelling = 'v3' | 'v4'

/** The spelling of a release such as `4.2.3`. */
export function spellingOf(release: string): Spelling {
  return release.startsWith('3.') ? 'v3' : 'v4'
}

/** The words for keys that one release has and the other stumbles over or does not know. */
export const KEY_FIELDS: Readonly<Record<Spelling, readonly string[]>> = {
  v3: ['permanentKey', 'opc', 'milenage'],
  v4: ['encPermanentKey', 'encOpcKey', 'encTopcKey'],
}

/** Keys in the words of a release. Up to 3.4 the UDM refuses everybody without `milenage`, used or not. */
export function keyFields({ ki, opc }: Pick<Subscriber, 'ki' | 'opc'>, spelling: Spelling): Doc {
  const [k, op] = [Buffer.from(ki).toString('hex'), Buffer.from(opc).toString('hex')]
  if (spelling === 'v4') return { encPermanentKey: k, encOpcKey: op }
  const plain = { encryptionKey: new Int32(0), encryptionAlgorithm: new Int32(0) }
  return {
    permanentKey: { permanentKeyValue: k, ...plain },
    opc: { opcValue: op, ...plain },
    milenage: { op: { opValue: '', ...plain } },
  }
}

/** 48 bits as 12 hex digits. */
function sqnText(sqn: bigint): string {
  return sqn.toString(16).padStart(12, '0')
}

/** The digits of a stored SQN however it is spelled; undefined when the core could not read any. */
export function heldSqn(held: unknown): string | undefined {
  const text = typeof held === 'string' ? held : docOf(held).sqn
  return typeof text === 'string' && /^[0-9a-fA-F]+$/.test(text) ? text : undefined
}

/** A SQN in the words of a release: what stands there when that will do, else the same number, else `first`. */
export function sqnField(held: unknown, first: bigint, spelling: Spelling): unknown {
  const digits = heldSqn(held)
  const isReadable = digits !== undefined && (typeof held === 'string') === (spelling === 'v3')
  if (isReadable) return held
  // The UDM takes the last 12 digits and fills up what is missing.
  const sqn = digits === undefined ? sqnText(first) : digits.slice(-12).padStart(12, '0')
  return spelling === 'v4' ? { sqnScheme: 'GENERAL', sqn } : sqn
}
