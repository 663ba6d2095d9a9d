import { randomBytes } from 'node:crypto'
import { countText, nodeIdentityRef, type Tx, timestampFromMs } from '@steeple/contracts'
import { type AlertParts, WEBHOOK_RESOURCE } from '../parts.ts'
import { alertRecord, outageIn } from '../record.ts'
import { type AlertRow, openKey } from '../store/alert-store.ts'
import { DELIVERIES, nextSeq } from '../store/delivery-store.ts'
import type { Message } from './sign.ts'
import type { MessageType } from './target.ts'

export interface Topic {
  readonly type: MessageType
  readonly atMs: number
  /** One sentence for receivers that show nothing else. */
  readonly text: string
  readonly data: object
}

/** A message with an id of its own: `{type, timestamp, text, data}`. */
export function messageOf({ context }: AlertParts, { type, atMs, text, data }: Topic): Message {
  const { nodeId, name } = context.use(nodeIdentityRef)
  const whole = {
    type,
    timestamp: timestampFromMs(atMs),
    text,
    data: { ...data, node: { id: nodeId, name } },
  }
  return { id: `msg_${randomBytes(16).toString('hex')}`, body: JSON.stringify(whole, asUtf8) }
}

/** Half of a pair of UTF-16, as where a text was cut, is nothing that a receiver could write down. */
function asUtf8(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}

/**
 * Leaves a message about an alert for each receiver that wants it, in the transaction of what it tells of; sent after the
 * commit. Gives whether there is one.
 */
export async function tell(
  parts: AlertParts,
  tx: Tx,
  type: Exclude<MessageType, 'alert.test'>,
  row: AlertRow,
  atMs: number,
): Promise<boolean> {
  const wanting = (await parts.targets(tx)).filter((target) => target.wants(type, row.severity))
  if (wanting.length === 0) return false
  const { id, body } = messageOf(parts, topicOf(parts, type, row, atMs))
  const seq = await nextSeq(tx)
  for (const target of wanting) {
    await DELIVERIES.insert(tx, {
      id,
      target: target.name,
      seq,
      // Another rule's message of the same thing does not wait behind one that is not taken.
      subject: openKey(row.rule, row.subject),
      type,
      body,
      state: 'waiting',
      created_at_ms: atMs,
      give_up_from_ms: atMs,
      next_at_ms: atMs,
      failures: 0,
      last_error: null,
    })
    tx.afterCommit(() => parts.context.enqueue(WEBHOOK_RESOURCE, target.name))
  }
  return true
}

/** What is said of an alert. */
export function topicOf(
  { context }: AlertParts,
  type: Exclude<MessageType, 'alert.test'>,
  row: AlertRow,
  atMs: number,
): Topic {
  const { name } = context.use(nodeIdentityRef)
  return { type, atMs, text: textOf(type, row, name), data: alertRecord(row, undefined) }
}

function textOf(type: MessageType, row: AlertRow, node: string): string {
  const { severity, rule, subject, message, acked_by } = row
  const outage = outageIn(message)
  const called = outage ?? `${rule}${subject === rule ? '' : ` (${subject})`}`
  if (type === 'alert.resolved') return `Over: ${called} on ${node}${endOf(row)}`
  const about =
    outage === undefined
      ? `${called} on ${node}: ${message}`
      : `${called} on ${node}${message.slice(outage.length)}`
  if (type === 'alert.acked') return `Acknowledged by ${acked_by ?? 'somebody'}: ${about}`
  return `${severity.toUpperCase()}: ${about}`
}

/** `, lasted 2 min; 16 phones were off` */
function endOf({ message, started_at_ms: beganMs, resolved_at_ms: endMs }: AlertRow): string {
  const phones = /^[^:]*, (\d+) phones? (?:is|are) off/.exec(message)?.[1]
  const off = phones === undefined ? '' : `; ${countText(phones, 'phone was', 'phones were')} off`
  return `, lasted ${durationText((endMs ?? beganMs) - beganMs)}${off}`
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** In its largest whole unit: `90 s`, `2 min`, `3 h`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const [unit, size] = UNITS.find(([, least]) => seconds >= 2 * least) ?? (['s', 1] as const)
  return `${Math.round(seconds / size)} ${unit}`
}
