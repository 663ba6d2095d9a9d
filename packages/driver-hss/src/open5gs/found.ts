import type { FoundSlice, SubscriberFound } from '@steeple/contracts'
import { opcFrom } from '@steeple/telecom'
import { EJSON } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { isInt32, meantAmbr } from './ambr.ts'
import { docsOf } from './slices.ts'

/** What the core writes while phones come and go, what is of the database, and what a block of ours leaves. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  '_id',
  '__v',
  'imsi',
  'imeisv',
  'mme_host',
  'mme_realm',
  'mm_realm',
  'mme_timestamp',
  'purge_flag',
  'suspended_slice',
  'request_cancel_location',
])
const SECRETS: ReadonlySet<string> = new Set(['k', 'op', 'opc', 'rand', 'sqn'])

/** All of a document but its keys: fields that nobody here knows come along. */
export const WITHOUT_KEYS: Doc = { 'security.k': 0, 'security.op': 0, 'security.opc': 0, 'security.rand': 0 }

/** A subscriber as its document has it, whoever wrote it; undefined for the rest of a removed one. */
export function foundOf(doc: Doc, what: 'with keys' | 'without keys'): SubscriberFound | undefined {
  if (typeof doc.imsi !== 'string' || isGhost(doc)) return undefined
  const blocked = isBlocked(doc)
  const slice = blocked ? docsOf(doc.suspended_slice) : docsOf(doc.slice)
  const security = (doc.security ?? {}) as Doc
  const keys = what === 'with keys' ? keysOf(doc) : undefined
  const { amf } = security
  const msisdn = Array.isArray(doc.msisdn) ? doc.msisdn[0] : undefined
  return {
    slices: slice.map(sliceOf),
    ambrBps: meantAmbr(doc.ambr),
    msisdn: typeof msisdn === 'string' && msisdn !== '' ? msisdn : undefined,
    isBlocked: blocked,
    keys,
    sqn: wholeSqn(doc),
    amf: typeof amf === 'string' ? amf : undefined,
    text: textOf(doc, slice),
    problem:
      what === 'with keys' && keys === undefined
        ? 'its K, OPc or OP cannot be read: the core lets it not on either'
        : undefined,
  }
}

/** Ki and OPc of a document; undefined when they are no keys. The core takes OPc before OP, and skips blanks. */
export function keysOf(doc: Doc): SubscriberFound['keys'] {
  const { k, opc, op } = (doc.security ?? {}) as Doc
  const [ki, held, operator] = [octetsOf(k), octetsOf(opc), octetsOf(op)]
  if (ki === undefined) return undefined
  if (held !== undefined) {
    operator?.fill(0)
    return { ki, opc: held, isOp: false }
  }
  if (operator === undefined) {
    ki.fill(0)
    return undefined
  }
  const made = opcFrom(ki, operator)
  operator.fill(0)
  return { ki, opc: made, isOp: true }
}

function octetsOf(text: unknown): Uint8Array | undefined {
  const digits = typeof text === 'string' ? text.replaceAll(/\s/g, '') : ''
  return /^[0-9a-fA-F]{32}$/.test(digits) ? Uint8Array.from(Buffer.from(digits, 'hex')) : undefined
}

function sliceOf({ sst, sd, default_indicator: isDefault, session }: Doc): FoundSlice {
  return {
    sst: Number(numberOf(sst) ?? 0),
    sd: typeof sd === 'string' ? sd : undefined,
    isDefault: isDefault === true,
    apns: docsOf(session)
      .filter(({ name }) => typeof name === 'string' && name !== '')
      .map(({ name, ambr, qos, ue }) => {
        const { ipv4, ipv6 } = (ue ?? {}) as Doc
        return {
          name: String(name),
          ambrBps: meantAmbr(ambr),
          qos: numberOf(((qos ?? {}) as Doc).index),
          addresses: [ipv4, ipv6].filter((one): one is string => typeof one === 'string' && one !== ''),
        }
      }),
  }
}

function numberOf(value: unknown): number | undefined {
  return isInt32(value) ? value.value : typeof value === 'number' ? value : undefined
}

function textOf(doc: Doc, slice: readonly Doc[]): string {
  const security = Object.entries((doc.security ?? {}) as Doc).filter(([name]) => !SECRETS.has(name))
  const kept = Object.entries(doc).filter(([name]) => !NOT_KEPT.has(name))
  const whole = { ...Object.fromEntries(kept), security: Object.fromEntries(security), slice }
  return EJSON.stringify(whole, { relaxed: false })
}

/** The document that a text of `foundOf` stands for; undefined when there is none. */
export function docOfText(text: string | undefined): Doc | undefined {
  return text === undefined ? undefined : (EJSON.parse(text, { relaxed: false }) as Doc)
}

/** Whether a document is the rest that the core leaves when a removal meets an attach: it has no `security`. */
export function isGhost(doc: Doc): boolean {
  return doc.security === undefined && doc.slice === undefined && doc.schema_version === undefined
}

/** Whether nobody gets on with it: no slice, so no APN. */
export function isBlocked(doc: Doc): boolean {
  return docsOf(doc.slice).length === 0
}

/** The SQN of a document, whatever the type of its number. */
export function wholeSqn(doc: Doc): bigint | undefined {
  return wholeOf(sqnOf(doc))
}

/** The BSON type of a stored number. */
export function typeOf(value: unknown): unknown {
  return (value as { _bsontype?: unknown } | null | undefined)?._bsontype
}

/** A stored number that could be a SQN; undefined for anything else. */
function wholeOf(value: unknown): bigint | undefined {
  const isNumber = ['Long', 'Int32', 'Double'].includes(String(typeOf(value)))
  const text = isNumber ? String(value) : ''
  return /^[0-9]{1,15}$/.test(text) ? BigInt(text) : undefined
}

/** The SQN as it is stored. */
export function sqnOf(doc: Doc): unknown {
  return (doc.security as Doc | undefined)?.sqn
}
