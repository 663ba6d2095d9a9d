import { isServiceError } from '@steeple/contracts'
import type { MemberRecord } from '../enroll/member-record.ts'
import { apiPlace } from '../enroll/own-address.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { fieldOf, type MeshClient } from './mesh-client.ts'

const TIMEOUT_MS = 5_000
/** Members that are asked in one round. */
const MOST_ASKED = 3
const HTTPS_PORT = 443

/**
 * Asks some other members for the list of revoked certificates, when the root is away. Their word is worth its signature.
 * Whom it asks is drawn, and nobody is asked again before all have been.
 */
export function peerLists(
  parts: EnrollParts,
  client: MeshClient,
  take: (pem: string) => Promise<void>,
): () => Promise<void> {
  const { membershipState, node, context } = parts
  const asked = new Set<string>()
  const next = (): readonly MemberRecord[] => {
    const others = (membershipState.view()?.members ?? []).filter(({ node_id }) => node_id !== node.nodeId)
    if (others.every(({ node_id }) => asked.has(node_id))) asked.clear()
    const drawn = pick(others.filter(({ node_id }) => !asked.has(node_id)))
    for (const { node_id } of drawn) asked.add(node_id)
    return drawn
  }
  return async () => {
    const ownPort = apiPlace(context).port ?? HTTPS_PORT
    for (const other of next()) {
      for (const url of addressesOf(other, ownPort)) {
        if (context.retiring.aborted) return
        const pem = await listAt(parts, client, url, other.node_id)
        if (pem === undefined) continue
        await take(pem)
        break
      }
    }
  }
}

async function listAt(
  { identity, context }: EnrollParts,
  client: MeshClient,
  url: string,
  nodeId: string,
): Promise<string | undefined> {
  const membership = identity.membership()
  if (membership === undefined) return undefined
  try {
    const { body } = await client.call({
      url,
      method: 'GET',
      path: '/v1/mesh/crl',
      caPem: membership.caPem,
      nodeId,
      isAnonymous: true,
      timeoutMs: TIMEOUT_MS,
      signal: context.retiring,
    })
    const pem = fieldOf(body, 'crl_pem')
    return typeof pem === 'string' ? pem : undefined
  } catch (error) {
    if (isServiceError(error)) return undefined
    throw error
  }
}

/** Where it says that it answers, and the same port through the overlay: of one that says nothing, the port of this node. */
function addressesOf({ address, overlay_address }: MemberRecord, ownPort: number): readonly string[] {
  const port = /:(\d+)$/.exec(address ?? '')?.[1] ?? ownPort
  const overlay = `https://${overlay_address}:${port}`
  return address === null ? [overlay] : [`https://${address}`, overlay]
}

function pick(all: readonly MemberRecord[]): readonly MemberRecord[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, MOST_ASKED)
    .map(({ one }) => one)
}
