import {
  backoffMs,
  type ComponentHealth,
  isServiceError,
  type MeshMembership,
  msFromDuration,
} from '@steeple/contracts'
import { createChanges } from '../enroll/changes.ts'
import type { WireguardRecord } from '../enroll/member-record.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { hearing } from './hearing.ts'
import { heartbeats } from './heartbeats.ts'
import type { MeshClient } from './mesh-client.ts'
import { meshNews } from './news.ts'
import { isCertificateRefused, ownCertificate } from './own-certificate.ts'
import { peerLists } from './peer-lists.ts'
import { type RootClient, rootClient } from './root-call.ts'

const RETRY = { firstMs: 1_000, longestMs: 15_000 }
/** Without news for so long other members are asked for the revoked certificates. */
const SILENCE_MS = 60_000
const IDLE_MS = 3_600_000
const HEARTBEAT_MS = 15_000

/** What a member does by itself: follows its root, tells it how it is, renews its certificate, and hears when it is out. */
export interface MeshAgent {
  start(): void
  /** Tells the other members of this node's WireGuard; durable here when it resolves. */
  publish(wireguard: WireguardRecord): Promise<void>
  /** Leaves the mesh; says whether the root has heard of it. */
  leave(signal: AbortSignal): Promise<{ readonly isRootTold: boolean }>
  health(): ComponentHealth
  /** Whether the root of this member has not answered the last question. */
  isRootAway(): boolean
}

/** Makes the agent. Nothing runs before `start`. */
export function meshAgent(parts: EnrollParts, client: MeshClient): MeshAgent {
  const { context, identity } = parts
  const woken = createChanges()
  const asking = rootClient(parts, client)
  const heard = hearing(parts, asking)
  const news = meshNews(parts, asking, heard)
  const root = rootWatch(parts)
  const certificate = ownCertificate(parts, asking)
  const sendHeartbeat = heartbeats(parts, asking)
  const askPeers = peerLists(parts, client, heard.take)
  // What the root then says of this node is no news.
  let isLeaving = false
  const present = (): MeshMembership | undefined =>
    context.config.enabled ? identity.membership() : undefined
  const round = async (membership: MeshMembership): Promise<void> => {
    await certificate.renewWhenDue(membership, context.retiring)
    await news.ask(identity.membership() ?? membership, !root.isAway())
    root.answered(membership)
    const still = present()
    if (still !== undefined) await news.send(still)
  }
  const afterFailure = async (membership: MeshMembership, error: unknown): Promise<void> => {
    if (isLeaving) return
    root.failed(error)
    if (isCertificateRefused(error)) await heard.askRoot(membership).catch(() => undefined)
    if (identity.membership() !== undefined && root.isSilent()) await askPeers()
  }
  const follow = async (): Promise<void> => {
    let failures = 0
    while (!context.retiring.aborted) {
      const membership = present()
      if (membership === undefined) {
        await woken.next(IDLE_MS, context.retiring)
        continue
      }
      const error = await failureOf(() => round(membership))
      failures = error === undefined ? 0 : failures + 1
      if (error === undefined || context.retiring.aborted) continue
      const fault = await failureOf(() => afterFailure(membership, error))
      if (fault !== undefined) context.log.error({ err: fault }, 'the mesh could not be followed')
      await woken.next(backoffMs(RETRY, failures), context.retiring)
    }
  }
  const beat = async (signal: AbortSignal): Promise<void> => {
    const membership = present()
    if (membership === undefined) return
    // The loop that follows the root has the say about what a failure means.
    const error = await failureOf(() => sendHeartbeat(membership, signal))
    if (error !== undefined && !isServiceError(error)) throw error
  }
  return {
    start: () => {
      context.defer(identity.onChange(woken.tell))
      const followed = follow()
      context.defer(() => followed)
      context.every(msFromDuration(context.config.heartbeat) ?? HEARTBEAT_MS, beat, 'each')
    },
    publish: async (wireguard) => {
      await news.keep(wireguard)
      const membership = present()
      // Sent again by the loop when it fails.
      if (membership !== undefined) await failureOf(() => news.send(membership))
    },
    leave: async (signal) => {
      isLeaving = true
      try {
        return await leaveMesh(parts, asking, signal)
      } finally {
        isLeaving = false
      }
    },
    ...{ health: root.health, isRootAway: root.isAway },
  }
}

async function failureOf(work: () => Promise<void>): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error ?? new Error('it failed without an error')
  }
}

async function leaveMesh(
  { identity, learnt, node }: EnrollParts,
  root: RootClient,
  signal: AbortSignal,
): Promise<{ readonly isRootTold: boolean }> {
  const membership = identity.membership()
  if (membership === undefined) return { isRootTold: true }
  const path = `/v1/nodes/${node.nodeId}/leave`
  const answer = await root
    .call(membership, { signal, method: 'POST', path, body: {} })
    .catch(() => undefined)
  await identity.forget()
  await learnt.clear()
  // 401: it had put this node out before.
  return { isRootTold: answer !== undefined && (answer.status === 200 || answer.status === 401) }
}

/** What is known of the root: whether it answers, since when it does not, and what that means for the health. */
function rootWatch({ context, identity, learnt }: EnrollParts) {
  let heardMs = context.clock.monotonicMs()
  let trouble: string | undefined
  const base = { name: 'membership', kind: 'feature' as const, required: false }
  return {
    isAway: (): boolean => trouble !== undefined,
    answered: (membership: MeshMembership): void => {
      if (trouble !== undefined) context.log.info({ root: membership.rootUrl }, 'the root answers again')
      trouble = undefined
      heardMs = context.clock.monotonicMs()
    },
    failed: (error: unknown): void => {
      if (trouble === undefined) context.log.warn({ err: error }, 'the root of the mesh does not answer')
      trouble = error instanceof Error ? error.message : String(error)
    },
    /** True once in each time of silence. */
    isSilent: (): boolean => {
      const nowMs = context.clock.monotonicMs()
      if (nowMs - heardMs < SILENCE_MS) return false
      heardMs = nowMs
      return true
    },
    health: (): ComponentHealth => {
      const membership = identity.membership()
      const gone = learnt.expelled()
      if (membership === undefined && gone !== undefined) {
        const at = new Date(gone.atMs).toISOString()
        const detail = `this node was taken out of the mesh ${gone.mesh} at ${at}; join again if that was a mistake`
        return { ...base, status: 'degraded', detail }
      }
      if (membership === undefined) return { ...base, status: 'ok', detail: 'root of its own mesh' }
      const of = `member of ${membership.meshName}`
      if (trouble === undefined) return { ...base, status: 'ok', detail: of }
      return { ...base, status: 'degraded', detail: `${of}; goes on with what it knows: ${trouble}` }
    },
  }
}
