import {
  answerText,
  boxCallsRef,
  isServiceError,
  type Outcome,
  type Reconciler,
  southboundUnavailable,
} from '@steeple/contracts'
import { ALL, BOX, type Parts } from '../context.ts'
import type { BoxReport } from '../document.ts'
import { apply, endInvitations } from './apply.ts'
import { documentOf, type Hub, hubOf, keptOf, permittedOf, receive } from './kept.ts'

/** The hub is asked and told so often, whatever heartbeats say. */
const RESYNC_MS = 600_000
/** What was refused is tried again after that. */
const AGAIN_MS = 60_000

/** Gets what this box is to have, applies it, and tells the hub what became of it. */
export function boxReconciler(parts: Parts): Reconciler {
  const { context } = parts
  let told = { text: '', atMs: Number.NEGATIVE_INFINITY }
  let askedMs = Number.NEGATIVE_INFINITY
  const isOld = (atMs: number): boolean => context.clock.monotonicMs() - atMs >= RESYNC_MS
  /** What kept it from the newest document; undefined when nothing did. */
  const ask = async (hub: Hub, signal: AbortSignal): Promise<unknown> => {
    const kept = await keptOf(parts, hub)
    const { version } = parts.news
    if (!isOld(askedMs) && (version === undefined || version === kept?.version)) return undefined
    try {
      await fetch(parts, hub, signal)
      askedMs = context.clock.monotonicMs()
      return undefined
    } catch (error) {
      signal.throwIfAborted()
      return error
    }
  }
  return {
    resource: BOX,
    resyncMs: RESYNC_MS,
    backoff: { firstMs: 1_000, longestMs: 60_000 },
    keys: async () => [ALL],
    reconcile: async (_, signal): Promise<Outcome> => {
      const hub = hubOf(parts)
      const permitted = hub === undefined ? [] : await permittedOf(parts, hub)
      if (!permitted.includes('invitations')) await endInvitations(parts, signal)
      if (hub === undefined) return { state: 'converged' }
      const missed = await ask(hub, signal)
      // What is kept is applied, whether the hub answers or not.
      const report = await reportOf(parts, hub, signal)
      const text = JSON.stringify([hub.id, report])
      if (text !== told.text || isOld(told.atMs)) {
        await tell(parts, hub, report, signal)
        told = { text, atMs: context.clock.monotonicMs() }
      }
      if (missed !== undefined) throw missed
      const isOver = report.parts.every(({ status }) => status === 'applied' || status === 'not_permitted')
      return isOver
        ? { state: 'converged' }
        : { state: 'pending', afterMs: AGAIN_MS, reason: 'parts of the desired state are not applied' }
    },
  }
}

async function reportOf(parts: Parts, hub: Hub, signal: AbortSignal): Promise<BoxReport> {
  const kept = await keptOf(parts, hub)
  const permitted = await permittedOf(parts, hub)
  if (kept === undefined) return { version: 0, digest: '', permitted, parts: [] }
  const done = await apply(parts, { hub, document: documentOf(kept), permitted }, signal)
  return { version: kept.version, digest: kept.digest, permitted, parts: done }
}

/** Gets the document; there may be none. */
async function fetch(parts: Parts, hub: Hub, signal: AbortSignal): Promise<void> {
  const { context, node } = parts
  const path = `/v1/desired-state/${node.nodeId}`
  const answer = await context.use(boxCallsRef).call(hub.id, { method: 'GET', path }, signal)
  if (answer.status === 404) return
  if (answer.status !== 200)
    throw southboundUnavailable(`the hub answered ${answerText(answer)} to the question for desired state`)
  try {
    const receipt = await receive(parts, hub, answer.body)
    if (receipt === 'older' || receipt === 'other')
      context.log.warn({ receipt }, 'the hub has an older desired state than this box, which keeps its own')
  } catch (error) {
    if (isServiceError(error)) throw southboundUnavailable(error.message, { cause: error })
    throw error
  }
}

async function tell({ context, node }: Parts, hub: Hub, body: BoxReport, signal: AbortSignal): Promise<void> {
  const question = { method: 'PUT', path: `/v1/desired-state/${node.nodeId}/report`, body } as const
  const answer = await context.use(boxCallsRef).call(hub.id, question, signal)
  // A hub of an earlier version has no such route.
  if (answer.status !== 200 && answer.status !== 404)
    throw southboundUnavailable(`the hub answered ${answerText(answer)} to the report of this box`)
}
