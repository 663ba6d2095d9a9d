import { backoffMs, messageOf, type Outcome, type Reconciler } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { type AlertParts, WEBHOOK_RESOURCE } from '../parts.ts'
import { ruleTexts } from '../receivers/words.ts'
import { DELIVERIES, type DeliveryRow, dueDeliveries, nextDueMs } from '../store/delivery-store.ts'
import { type Answer, post, sendMail } from './post.ts'
import type { Message } from './sign.ts'
import type { Target } from './target.ts'

/** Messages to one receiver at a time. */
const ABREAST = 4
/** Receivers at a time. */
const RECEIVERS = 8
/** From five seconds to an hour, a fifth of it drawn. */
const BACKOFF = { firstMs: 5_000, longestMs: 3_600_000 }
/** How long one call goes on, ms: others may wait for their turn. */
const SLICE_MS = 20_000
/** How long a receiver is left alone after a failure, whatever else waits for it, ms. */
const REST_MS = 5_000
/** Characters of an answer that are shown. */
const MOST_SAID = 200
/** A message that nobody has taken for so long is parked. Contract section 10. */
export const GIVE_UP_MS = 86_400_000

/** Sends what waits. Its keys are receivers; level-based: what is to be sent is in the store. */
export function deliveryReconciler(parts: AlertParts): Reconciler {
  return {
    resource: WEBHOOK_RESOURCE,
    resyncMs: 30_000,
    concurrency: RECEIVERS,
    keys: async () => (await parts.targets()).map(({ name }) => name),
    reconcile: async ([key = ''], signal) => {
      const target = (await parts.targets()).find(({ name }) => name === key)
      return target === undefined ? { state: 'converged' } : await deliver(parts, target, signal)
    },
  }
}

async function deliver(parts: AlertParts, target: Target, signal: AbortSignal): Promise<Outcome> {
  const { context } = parts
  const endMs = context.clock.monotonicMs() + SLICE_MS
  for (;;) {
    const due = await dueDeliveries(context.db, target.name, Math.floor(context.clock.nowMs()), ABREAST)
    if (due.length === 0) return await waitFor(parts, target)
    const isTaken = await Promise.all(due.map((row) => attempt(parts, target, row, signal)))
    if (signal.aborted) return { state: 'pending', afterMs: 0, reason: 'it was interrupted' }
    if (isTaken.includes(false))
      return { state: 'pending', afterMs: REST_MS, reason: `${target.name} does not take a message` }
    if (context.clock.monotonicMs() > endMs)
      return { state: 'pending', afterMs: 0, reason: 'there are more messages' }
  }
}

async function waitFor({ context }: AlertParts, { name }: Target): Promise<Outcome> {
  const nextMs = await nextDueMs(context.db, name)
  if (nextMs === undefined) return { state: 'converged' }
  // One that is due waits behind another one of its subject.
  const afterMs = Math.min(Math.max(nextMs - context.clock.nowMs(), 1_000), 60_000)
  return { state: 'pending', afterMs, reason: 'messages wait for their next attempt' }
}

/** Whether it was taken. What was not is tried again later, or parked. */
async function attempt(
  parts: AlertParts,
  target: Target,
  row: DeliveryRow,
  signal: AbortSignal,
): Promise<boolean> {
  const { context, metrics } = parts
  const failed = await failureOf(parts, target, row, signal)
  if (failed === undefined) {
    await context.db.write((tx) => DELIVERIES.remove(tx, { id: row.id, target: row.target }))
    metrics.attempted('delivered')
    return true
  }
  if (signal.aborted) return false
  metrics.attempted('failed')
  const after = afterFailure(parts, row, failed)
  await context.db.write(async (tx) => {
    // It may have been forgotten, or asked for anew, meanwhile.
    if ((await DELIVERIES.find(tx, { id: row.id, target: row.target })) !== undefined)
      await DELIVERIES.put(tx, after)
  })
  const facts = { webhook: target.name, message_id: row.id, failures: after.failures, why: failed.why }
  if (after.state === 'parked') context.log.error(facts, 'a message to a webhook is given up')
  else context.log.warn(facts, 'a webhook did not take a message; it is sent again')
  return false
}

interface Failure {
  readonly why: string
  readonly retryAfterMs: number | undefined
}

function afterFailure(
  { context }: AlertParts,
  row: DeliveryRow,
  { why, retryAfterMs }: Failure,
): DeliveryRow {
  const nowMs = Math.floor(context.clock.nowMs())
  const failures = row.failures + 1
  const asked = Math.min(retryAfterMs ?? 0, BACKOFF.longestMs)
  // By a clock that is not believed nobody's day is over.
  const isLate = context.clock.doubt?.() === undefined && nowMs - row.give_up_from_ms >= GIVE_UP_MS
  return {
    ...row,
    failures,
    last_error: why,
    state: isLate ? 'parked' : 'waiting',
    next_at_ms: nowMs + Math.max(backoffMs(BACKOFF, failures), asked),
  }
}

/** Why the receiver did not take it; undefined when it did. */
export async function failureOf(
  { context, resolve }: Pick<AlertParts, 'context' | 'resolve'>,
  target: Target,
  message: Message,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  let secrets: readonly string[] = []
  try {
    const outgoing = await target.outgoing(message, context.clock.nowMs(), () => ruleTexts(context))
    secrets = outgoing.secrets
    const sending = { signal, resolve }
    if (outgoing.by === 'http') return failureIn(await post(target, outgoing.request, sending), secrets)
    await sendMail(target, outgoing.mail, sending)
    return undefined
  } catch (error) {
    return { why: safeText(without(secrets, messageOf(error))), retryAfterMs: undefined }
  }
}

function failureIn(answer: Answer, secrets: readonly string[]): Failure | undefined {
  const { status, retryAfterMs, text } = answer
  if (status >= 200 && status < 300) return undefined
  const said = reasonIn(text)
  const reason = said === '' ? '' : `: ${safeText(without(secrets, said))}`
  const isElsewhere = status >= 300 && status < 400
  return {
    why: isElsewhere
      ? `it answers ${status}, and redirects are not followed`
      : `it answers ${status}${reason}`,
    retryAfterMs,
  }
}

/** What receivers say of what they refuse: Telegram a description, ntfy and Matrix an error, Slack a word; a page says nothing. */
function reasonIn(text: string): string {
  try {
    const { description, error } = JSON.parse(text) as { description?: unknown; error?: unknown } // checked below
    return [description, error].find((one) => typeof one === 'string') ?? ''
  } catch {
    return text.includes('<') ? '' : text.slice(0, MOST_SAID)
  }
}

/** A text of somebody else without our secrets, the longest first: one may hold another. */
function without(secrets: readonly string[], text: string): string {
  return secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
}
