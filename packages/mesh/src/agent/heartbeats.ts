import {
  healthBoardRef,
  lifecycleRef,
  type MeshMembership,
  serviceInfoRef,
  timestampFromMs,
  txGateRef,
} from '@steeple/contracts'
import type { EnrollParts } from '../enroll/parts.ts'
import { putNote, readNote } from '../enroll/store.ts'
import { refusal } from './answers.ts'
import type { RootClient } from './root-call.ts'

/** What the intake takes; see POST /v1/telemetry. */
const MOST_COMPONENTS = 32
const LONGEST_DETAIL = 256
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** Tells the root how this node is. Throws `southbound_unavailable`. */
export type SendHeartbeat = (membership: MeshMembership, signal: AbortSignal) => Promise<void>

/** Makes the sender. `seq` grows over restarts, lost stores and clocks that go back. */
export function heartbeats(parts: EnrollParts, root: RootClient): SendHeartbeat {
  const { context, node } = parts
  let seq: number | undefined
  const nextSeq = async (): Promise<number> => {
    seq ??= Number((await readNote(context.db, 'heartbeat_seq')) ?? 0)
    const next = Math.max(seq + 1, context.clock.nowMs())
    seq = next
    await context.db.write((tx) => putNote(tx, 'heartbeat_seq', String(next)))
    return next
  }
  return async (membership, signal) => {
    const board = context.use(healthBoardRef)
    const components = board
      .components()
      .filter(({ name }) => NAME.test(name))
      .slice(0, MOST_COMPONENTS)
      .map(({ name, status, detail, required }) => ({
        name,
        // A node counts as degraded for what it needs; the root cannot know what that is.
        status: status === 'down' && !required ? 'degraded' : status,
        detail: detail.slice(0, LONGEST_DETAIL),
      }))
    const answer = await root.call(membership, {
      signal,
      method: 'POST',
      path: '/v1/telemetry',
      body: {
        node_id: node.nodeId,
        at: timestampFromMs(context.clock.nowMs()),
        seq: await nextSeq(),
        components,
        versions: { svc: context.use(serviceInfoRef).version },
      },
      more: { node: await nodeNow(context) },
    })
    if (answer.status >= 300) throw refusal(answer)
  }
}

/** How this node itself is, as the list of nodes at the root shows it. */
async function nodeNow(context: EnrollParts['context']): Promise<object> {
  const [state = 'provision', gate] = await Promise.all([
    context.maybe(lifecycleRef)?.state(),
    context.maybe(txGateRef)?.state(),
  ])
  const { mcc, mnc } = context.settings.plmn
  return { lifecycle: state, plmn: `${mcc}-${mnc}`, on_air: gate?.armed ?? false }
}
