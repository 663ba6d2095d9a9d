import type { MeshMembership } from '@steeple/contracts'
import type { MeshCall } from './mesh-client.ts'

const TIMEOUT_MS = 10_000

/** The part of a question that says it is for the root. */
export function toRoot(
  { rootUrl, caPem, rootNodeId }: MeshMembership,
  signal: AbortSignal,
  timeoutMs: number = TIMEOUT_MS,
): Pick<MeshCall, 'url' | 'caPem' | 'nodeId' | 'timeoutMs' | 'signal'> {
  return { url: rootUrl, caPem, nodeId: rootNodeId, timeoutMs, signal }
}
