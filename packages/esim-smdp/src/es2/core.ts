import type { MutationTx } from '@steeple/contracts'
import { boundEid } from '../codes/bound-eid.ts'
import type { EsimParts } from '../parts.ts'
import { type Ordered, orderedOf } from '../store/es2-store.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import type { CodeRow } from '../store/rows.ts'
import { CODES } from '../store/rows.ts'
import type { Es2Caller } from './caller.ts'
import type { Es2Message } from './message.ts'
import { Es2Refused } from './refusal.ts'

/** One call, as far as it is understood. */
export interface Es2Call {
  readonly parts: EsimParts
  readonly caller: Es2Caller
  readonly message: Es2Message
  readonly nowMs: number
}

/** What a function does, once all that needs no transaction is done. */
export interface Es2Work {
  readonly action: 'esim.order' | 'esim.confirm' | 'esim.release' | 'esim.cancel_order'
  /** The SIM, or the end of its ICCID as long as nothing else is known. */
  readonly target: string
  /** In the transaction: the members of the answer. Throws `Es2Refused`. */
  run(tx: MutationTx): Promise<Es2Done>
}
/** What came of it. */
export interface Es2Done {
  readonly answer: Readonly<Record<string, string>>
  /** For the audit trail: no secret. */
  readonly detail: Readonly<Record<string, unknown>>
  readonly token: string
  /** The SIM, by its hash. */
  readonly sim: string
}

/** A function of ES2+. Throws `Es2Refused`. */
export type Es2Function = (call: Es2Call) => Promise<Es2Work>

/** The filler that makes 19 digits 20. */
const ICCID = /^[0-9]{18,20}[Ff]?$/
const EID = /^[0-9]{32}$/

/** The digits of the ICCID of a message, without filler; undefined when it has none. */
export function iccidIn({ message }: Es2Call): string | undefined {
  const text = message.text('iccid', ICCID)
  if (text !== undefined && text.length > 20) throw new Es2Refused('format', { detail: '(iccid)' })
  return text?.replace(/[Ff]$/, '')
}

/** As `iccidIn`. Throws `Es2Refused` when there is none. */
export function neededIccid(call: Es2Call): string {
  const iccid = iccidIn(call)
  if (iccid === undefined) throw new Es2Refused('format', { detail: '(iccid is missing)' })
  return iccid
}

/** An ICCID as ES2+ has it: 20 characters, with the filler. */
export function iccidOut(digits: string): string {
  return digits.padEnd(20, 'F')
}

/** The eUICC of the EID of a message. Throws `Es2Refused`. */
export async function euiccIn({ message, parts }: Es2Call): Promise<NamedEuicc | undefined> {
  const eid = message.text('eid', EID)
  if (eid === undefined) return undefined
  const euicc = await boundEid(parts, eid)
  if (typeof euicc === 'string') throw new Es2Refused('eid_unclear')
  return euicc
}

/** The order of an ICCID, as it is in this transaction, when it is the caller's. Throws `Es2Refused`. */
export async function ownOrder(
  tx: MutationTx,
  { caller }: Es2Call,
  iccidMac: Uint8Array,
  whenNone: 'iccid_unknown' | 'iccid_unavailable' | 'iccid_not_releasable',
): Promise<Required<Ordered>> {
  const found = await orderedOf(tx, iccidMac)
  if (found === undefined) throw new Es2Refused(whenNone)
  const { code, order } = found
  if (order?.owner !== caller.owner && order?.owner !== caller.formerOwner)
    throw new Es2Refused('iccid_not_allowed')
  return { code, order }
}

/** Why there is no order: the SIM is not known, or it is known and nobody has ordered it. */
export async function noOrder(
  { parts }: Es2Call,
  iccid: string,
  otherwise: 'iccid_unavailable' | 'iccid_not_releasable',
): Promise<'iccid_unknown' | 'iccid_unavailable' | 'iccid_not_releasable'> {
  return (await parts.issuer.byIccid(iccid)) === undefined ? 'iccid_unknown' : otherwise
}

/** Whether an order can still be gone on with. */
export function isOver(code: CodeRow, { parts, nowMs }: Es2Call): boolean {
  return parts.context.clock.doubt?.() === undefined && nowMs >= code.expires_at_ms
}

/** Stores a code, when it has changed. */
export async function putChanged(tx: MutationTx, before: CodeRow, after: CodeRow): Promise<void> {
  if (after !== before) await CODES.put(tx, after)
}
