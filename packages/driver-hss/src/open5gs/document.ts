import { isDeepStrictEqual } from 'node:util'
import type { Subscriber } from '@steeple/contracts'
import { EJSON, Int32, Long } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { encodeAmbr } from './ambr.ts'

/** S-NSSAI, TS 23.003 §28.4.2: `sd` is six hex digits. */
export interface Snssai {
  readonly sst: number
  readonly sd?: string | undefined
}

/** Fields that every subscriber has and this driver writes only where they are missing. */
export function commonFields(): Doc {
  return {
    schema_version: new Int32(1),
    access_restriction_data: new Int32(32),
    network_access_mode: new Int32(0),
    subscriber_status: new Int32(0),
    operator_determined_barring: new Int32(0),
    subscribed_rau_tau_timer: new Int32(12),
  }
}

/** Fields that the core fills in later; written on insert only. */
export function insertedFields(): Doc {
  return { imeisv: [], mme_host: [], mme_realm: [], purge_flag: [], __v: new Int32(0) }
}

/** One APN of a slice, with the values of a subscriber that has no wishes of its own. */
export function freshSession(apn: string, ambr: Doc): Doc {
  return { name: apn, type: new Int32(3), qos: freshQos(), ambr, pcc_rule: [] }
}

/** Best effort (QCI 9, 5QI 9), cannot pre-empt, can be pre-empted. TS 23.203 table 6.1.7. */
export function freshQos(): Doc {
  return {
    index: new Int32(9),
    arp: {
      priority_level: new Int32(8),
      pre_emption_capability: new Int32(1),
      pre_emption_vulnerability: new Int32(2),
    },
  }
}

/** What identifies a slice in a document. */
export function sliceHead(snssai: Snssai, isDefault: boolean): Doc {
  return {
    sst: new Int32(snssai.sst),
    ...(snssai.sd === undefined ? {} : { sd: snssai.sd.toLowerCase() }),
    default_indicator: isDefault,
  }
}

/** The SQN as the core reads it: a 64-bit integer. TS 33.102 §6.3: 48 bits. */
export function encodeSqn(sqn: bigint): Long {
  return Long.fromBigInt(sqn)
}

/** Keys as the core reads them: 32 hex digits each. */
export function securityFields({ ki, opc }: Pick<Subscriber, 'ki' | 'opc'>): Doc {
  return {
    'security.k': Buffer.from(ki).toString('hex'),
    'security.opc': Buffer.from(opc).toString('hex'),
    'security.op': null,
  }
}

/** AMBR of a subscriber, on the UE and on each of its sessions. */
export function ambrOf({ ambrBps }: Pick<Subscriber, 'ambrBps'>): Doc {
  return encodeAmbr(ambrBps)
}

/** Of the same types, too; a driver can bring its own copy of `bson`, whose numbers are told apart only once they are written down. */
export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || text(one) === text(other)
}

/** Canonical, with types, whatever the order of the fields. */
function text(value: unknown): string {
  return value === undefined ? '' : EJSON.stringify(sorted(value), { relaxed: false })
}

/** A value with the fields of each document in order. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  const isDoc = typeof value === 'object' && value !== null && !('_bsontype' in value)
  if (!isDoc) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  )
}
