import { isRecord, type JsonSchema, recordSchema } from '@steeple/contracts'
import { MOST_CHARACTERS } from './envelope.ts'
import type { LeaseState } from './store.ts'

/** Leases of one message. */
export const LEASES_AT_ONCE = 100
const MOST_VALID_S = 31_536_000
/** Phones of one question. */
export const CALLS_AT_ONCE = 32
/** Ended visits of which one message says that they were counted. */
export const COUNTED_AT_ONCE = 1_000
/** Stays of one answer. */
export const STAYS_AT_ONCE = 500
/** Usage of one answer. */
export const USAGE_AT_ONCE = 1_000

/** A lease as the home tells it. */
export interface ToldLease {
  readonly imsi_sha256_12: string
  readonly revision: number
  readonly state: LeaseState
  /** From the receipt on. */
  readonly valid_s: number
  readonly ind: number
  readonly seq: number
  /** JWE of the visitor's card. */
  readonly sealed: string | null
  /** Octets beyond those that the home has counted, after which it waits for news from home; null: any. */
  readonly share_bytes: number | null
  /** What the home has counted of which visit. */
  readonly counted_visit: string | null
  readonly counted_bytes: number
}
/** What has become of it. `newer`: that revision is known already. */
export interface LeaseResult {
  readonly imsi_sha256_12: string
  /** `waits`: nothing is kept of it as soon as its phone is cut off; to be asked again. */
  readonly status: 'taken' | 'needs_keys' | 'newer' | 'refused' | 'waits'
  readonly revision: number
  /** With `newer`: the index that the visited box has used for the SIM, when it is another one. */
  readonly ind: number | null
  readonly reason: string | null
}
/** What a visitor has used at the visited box. */
export interface VisitUsage {
  readonly imsi_sha256_12: string
  /** Another one where the counts have begun again. */
  readonly visit: string
  readonly up_bytes: number
  readonly down_bytes: number
  /** It has ended, and these totals are its last. */
  readonly is_over: boolean
}
/** A time in which a visitor's phone was on the visited box. Times by how long ago they are: two clocks may differ. */
export interface ToldStay {
  readonly revision: number
  readonly id: string
  readonly imsi_sha256_12: string
  readonly began_ago_s: number
  readonly seen_ago_s: number
  readonly is_over: boolean
}
/** The answer of a visited box. */
export interface LeasesAnswer {
  readonly key: { readonly id: string; readonly x: string }
  readonly results: readonly LeaseResult[]
  readonly usage: readonly VisitUsage[]
  /** Behind the revision that was asked for, by revision. */
  readonly stays: readonly ToldStay[]
}

const HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }
const OCTETS: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

/** Schema of the message. */
export const LEASES_SCHEMA: JsonSchema = recordSchema({
  stays_after: { ...OCTETS, description: 'The revision of the last stay that the home has.' },
  counted: {
    type: 'array',
    maxItems: COUNTED_AT_ONCE,
    items: { type: 'string', maxLength: 64 },
    description: 'Visits that have ended and were counted to their end: they need not be told again.',
  },
  leases: {
    type: 'array',
    maxItems: LEASES_AT_ONCE,
    items: recordSchema({
      imsi_sha256_12: HASH,
      revision: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      state: { type: 'string', enum: ['open', 'blocked', 'ended', 'erased'] },
      valid_s: {
        type: 'integer',
        minimum: 1,
        maximum: MOST_VALID_S,
        description: 'Seconds from the receipt on.',
      },
      ind: {
        type: 'integer',
        minimum: 1,
        maximum: 31,
        description: 'Index of sequence numbers. TS 33.102 annex C.3.2.',
      },
      seq: { type: 'integer', minimum: 1, maximum: 2 ** 43 - 1 },
      sealed: {
        type: ['string', 'null'],
        maxLength: MOST_CHARACTERS,
        description: 'JWE to the key of this box.',
      },
      share_bytes: {
        ...OCTETS,
        type: ['integer', 'null'],
        description: 'Octets beyond counted_bytes that it may use before the home is heard again. Null: any.',
      },
      counted_visit: { type: ['string', 'null'], maxLength: 64 },
      counted_bytes: OCTETS,
    }),
  },
})

/** Schema of the answer. */
export const ANSWER_SCHEMA: JsonSchema = recordSchema({
  key: recordSchema({ id: { type: 'string' }, x: { type: 'string', description: 'X25519, base64url.' } }),
  results: {
    type: 'array',
    items: recordSchema({
      imsi_sha256_12: HASH,
      status: { type: 'string', description: 'taken, needs_keys, newer, refused or waits; more may come.' },
      revision: { type: 'integer' },
      ind: {
        type: ['integer', 'null'],
        description: 'The index that was used here before, where it is another one.',
      },
      reason: { type: ['string', 'null'] },
    }),
  },
  usage: {
    type: 'array',
    items: recordSchema({
      imsi_sha256_12: HASH,
      visit: { type: 'string' },
      up_bytes: OCTETS,
      down_bytes: OCTETS,
      is_over: { type: 'boolean', description: 'The visit has ended, and these totals are its last.' },
    }),
  },
  stays: {
    type: 'array',
    items: recordSchema({
      revision: OCTETS,
      id: { type: 'string' },
      imsi_sha256_12: HASH,
      began_ago_s: OCTETS,
      seen_ago_s: { ...OCTETS, description: 'When its phone was last seen here.' },
      is_over: { type: 'boolean' },
    }),
  },
})

const LONGEST_REASON = 300

/** The answer of another box, of which nothing is known; undefined for what is none. */
export function readAnswer(body: unknown): LeasesAnswer | undefined {
  if (!isRecord(body)) return undefined
  const { key, results, usage, stays } = body
  if (!isRecord(key) || typeof key.id !== 'string' || typeof key.x !== 'string') return undefined
  if (!/^[0-9a-f]{16}$/.test(key.id) || !/^[\w-]{43}$/.test(key.x)) return undefined
  if (!Array.isArray(results) || !Array.isArray(usage) || !Array.isArray(stays)) return undefined
  return {
    key: { id: key.id, x: key.x },
    results: results
      .filter(isResult)
      .map((one) => ({ ...one, reason: one.reason?.slice(0, LONGEST_REASON) ?? null })),
    usage: usage.filter(isUsage),
    stays: stays.filter(isStay),
  }
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{12}$/.test(value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isResult(value: unknown): value is LeaseResult {
  if (!isRecord(value)) return false
  const { imsi_sha256_12: hash, status, revision, ind, reason } = value
  const isReason = reason === null || typeof reason === 'string'
  const isInd = ind === null || (isCount(ind) && Number(ind) >= 1 && Number(ind) <= 31)
  return isHash(hash) && typeof status === 'string' && isCount(revision) && isInd && isReason
}

function isUsage(value: unknown): value is VisitUsage {
  if (!isRecord(value)) return false
  const { imsi_sha256_12: hash, visit, up_bytes: up, down_bytes: down, is_over: isOver } = value
  const isVisit = typeof visit === 'string' && /^[\w-]{1,64}$/.test(visit)
  return isHash(hash) && isVisit && isCount(up) && isCount(down) && typeof isOver === 'boolean'
}

function isStay(value: unknown): value is ToldStay {
  if (!isRecord(value)) return false
  const { revision, id, imsi_sha256_12: hash, began_ago_s: began, seen_ago_s: seen, is_over: isOver } = value
  const isId = typeof id === 'string' && /^[\w-]{1,64}$/.test(id)
  return isHash(hash) && isId && [revision, began, seen].every(isCount) && typeof isOver === 'boolean'
}
