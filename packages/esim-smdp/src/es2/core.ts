import { hash } from 'node:crypto'
import { type Metrics, type MutationTx, type Principal, systemPrincipal } from '@steeple/contracts'
import type { ListenedClient } from '../listen/exchange.ts'
import type { EsimParts } from '../parts.ts'
import { memberOf, objectIn, Refused } from '../rsp/refusal.ts'
import { boundEid } from '../store/adopt-store.ts'
import { orderedOf } from '../store/es2-store.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import type { CodeRow } from '../store/rows.ts'

/** The functions that an order system calls. SGP.22 §5.3. */
export const ES2_FUNCTIONS = ['downloadOrder', 'confirmOrder', 'cancelOrder', 'releaseProfile'] as const
export type Es2FunctionName = (typeof ES2_FUNCTIONS)[number]
/** The series of ES2+. */
export interface Es2Metrics {
  readonly calls: ReturnType<Metrics['counter']>
  readonly progress: ReturnType<Metrics['counter']>
  readonly waiting: ReturnType<Metrics['gauge']>
}

export function es2Metrics(metrics: Metrics): Es2Metrics {
  return {
    calls: metrics.counter('svc_esim_smdp_es2_calls_total', 'Calls of ES2+, by function and result.', [
      'function',
      'result',
    ]),
    progress: metrics.counter(
      'svc_esim_smdp_progress_total',
      'Calls of handleDownloadProgressInfo, by outcome.',
      ['outcome'],
    ),
    waiting: metrics.gauge(
      'svc_esim_smdp_progress_waiting',
      'Reports of download steps that wait for the order system.',
    ),
  }
}

/** An order system: whoever has a key of the certificates that one authority has given that subject. */
export interface Es2Caller {
  /** SHA-256 (hex) of the subject and the authority: a renewed certificate is the same caller, that of another authority is not. */
  readonly owner: string
  /** What earlier versions called it: SHA-256 (hex) of the subject alone. */
  readonly formerOwner: string
  /** The subject in one line. */
  readonly subject: string
  /** Who the audit trail names. */
  readonly principal: Principal
}

const MOST_SUBJECT = 128

/** The caller that a client certificate names; the certificate itself was checked by TLS. */
export function callerOf({
  subject,
  sha256,
  authority,
}: Pick<ListenedClient, 'subject' | 'sha256' | 'authority'>): Es2Caller {
  // One without a name is known by itself.
  const name = subject === '' ? `SHA256=${sha256}` : subject
  const line = name
    .replaceAll('\n', ', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, MOST_SUBJECT)
  return {
    owner: hash('sha256', `${name}\n${authority}`),
    formerOwner: hash('sha256', name),
    subject: line,
    principal: systemPrincipal(`es2+ ${line}`),
  }
}

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
  /** In the transaction: the members of the answer. Throws `Refused`. */
  run(tx: MutationTx): Promise<Es2Done>
}
export interface Es2Done {
  /** The code as it is now. */
  readonly row: CodeRow
  readonly answer: Readonly<Record<string, string>>
  /** For the audit trail: no secret. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** A function of ES2+. Throws `Refused`. */
export type Es2Function = (call: Es2Call) => Promise<Es2Work>

/** The filler that makes 19 digits 20. */
const ICCID = /^[0-9]{18,20}[Ff]?$/
const EID = /^[0-9]{32}$/

/** The digits of the ICCID of a message, without filler; undefined when it has none. */
export function iccidIn({ message }: Es2Call): string | undefined {
  const text = message.text('iccid', ICCID)
  if (text !== undefined && text.length > 20) throw new Refused('format', { detail: '(iccid)' })
  return text?.replace(/[Ff]$/, '')
}

/** As `iccidIn`. Throws `Refused` when there is none. */
export function neededIccid(call: Es2Call): string {
  const iccid = iccidIn(call)
  if (iccid === undefined) throw new Refused('format', { detail: '(iccid is missing)' })
  return iccid
}

/** An ICCID as ES2+ has it: 20 characters, with the filler. */
export function iccidOut(digits: string): string {
  return digits.padEnd(20, 'F')
}

/** The eUICC of the EID of a message. Throws `Refused`. */
export async function euiccIn({ message, parts }: Es2Call): Promise<NamedEuicc | undefined> {
  const eid = message.text('eid', EID)
  if (eid === undefined) return undefined
  const euicc = await boundEid(parts, eid)
  if (typeof euicc === 'string') throw new Refused('eid_unclear')
  return euicc
}

/** The order of an ICCID, as it is in this transaction, when it is the caller's. Throws `Refused`. */
export async function ownOrder(
  tx: MutationTx,
  { caller }: Es2Call,
  iccidMac: Uint8Array,
  whenNone: 'iccid_unknown' | 'iccid_unavailable' | 'iccid_not_releasable',
): Promise<CodeRow> {
  const found = await orderedOf(tx, iccidMac)
  if (found === undefined) throw new Refused(whenNone)
  const { code, order } = found
  if (order?.owner !== caller.owner && order?.owner !== caller.formerOwner)
    throw new Refused('iccid_not_allowed')
  return code
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

/** A request of ES2+, its header checked. SGP.22 §6.5.1.3. */
export interface Es2Message {
  readonly requester: string
  readonly call: string
  /** Its members in a form that does not depend on their order: what the call is recognised by. */
  readonly canonical: string
  /** A text of that form, undefined when there is none. Throws `Refused` (`format`) for anything else. */
  text(name: string, pattern: RegExp): string | undefined
  /** Throws `Refused` (`format`) when it is no boolean; undefined when there is none. */
  flag(name: string): boolean | undefined
}

/** Octets; a request has some hundred. */
const MOST_BODY_OCTETS = 16_384
const MOST_IDENTIFIER = 128

/** Reads a request. Throws `Refused`. */
export function readMessage(octets: Uint8Array): Es2Message {
  const body = octets.length > MOST_BODY_OCTETS ? undefined : objectIn(octets)
  if (body === undefined) throw new Refused('format', { detail: '(no JSON object)' })
  const header = memberOf(body, 'header')
  const requester = identifier(memberOf(header, 'functionRequesterIdentifier'))
  if (requester === undefined) throw new Refused('requester_missing')
  const call = identifier(memberOf(header, 'functionCallIdentifier'))
  if (call === undefined) throw new Refused('call_missing')
  return {
    requester,
    call,
    canonical: canonical(body),
    text: (name, pattern) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'string' || !pattern.test(value))
        throw new Refused('format', { detail: `(${name})` })
      return value
    },
    flag: (name) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'boolean') throw new Refused('format', { detail: `(${name})` })
      return value
    },
  }
}

/** Printable ASCII: it goes into the audit trail. */
function identifier(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MOST_IDENTIFIER) return undefined
  return /^[\x20-\x7e]+$/.test(value) ? value : undefined
}

/** Members by name; no function has one that is more than a text or a flag. */
function canonical(body: object): string {
  const members = Object.entries(body)
    .filter(([name]) => name !== 'header')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, value] of members)
    if (typeof value === 'object' && value !== null)
      throw new Refused('format', { detail: `(${shown(name)})` })
  return JSON.stringify(members)
}

function shown(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 32)
}
