import { type BoxCalls, type Membership, nodeNotFound } from '@steeple/contracts'
import type { MemberRecord } from '../enroll/member-record.ts'
import { apiPlace } from '../enroll/own-names.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { codeIn, type MeshAnswer, type MeshCall, type MeshClient } from './mesh-client.ts'

const HTTPS_PORT = 443
const TIMEOUT_MS = 10_000

/** Where it says that it answers, and the same port through the overlay: of one that says nothing, the port of this node. */
function addressesOf(
  { context, identity }: EnrollParts,
  { address, overlay_address, is_root }: MemberRecord,
): ReadonlySet<string> {
  const port = /:(\d+)$/.exec(address ?? '')?.[1] ?? apiPlace(context).port ?? HTTPS_PORT
  const membership = is_root ? identity.membership() : undefined
  return new Set([
    ...(membership === undefined ? [] : [membership.rootUrl]),
    ...(address === null ? [] : [`https://${address}`]),
    `https://${overlay_address}:${port}`,
  ])
}

/** Asks a member at each address that is known of it, until one answers. Throws `southbound_unavailable`. */
export async function askMember(
  parts: EnrollParts,
  client: MeshClient,
  record: MemberRecord,
  question: Omit<MeshCall, 'url' | 'caPem' | 'nodeId'>,
): Promise<MeshAnswer> {
  const caPem = parts.identity.membership()?.caPem ?? parts.authority.caPem
  let last: unknown
  for (const url of addressesOf(parts, record)) {
    try {
      return await client.call({ ...question, url, caPem, nodeId: record.node_id })
    } catch (error) {
      question.signal.throwIfAborted()
      last = error
    }
  }
  throw last
}

/** Speaks to other members. `records`: all of them, those left out that are known to be out. */
export function memberCalls(
  parts: EnrollParts,
  client: MeshClient,
  records: () => readonly MemberRecord[] | undefined,
): BoxCalls {
  const others = (): readonly MemberRecord[] | undefined =>
    records()?.filter(({ node_id }) => node_id !== parts.node.nodeId)
  return {
    others: async () => others()?.map(({ node_id: nodeId, name }) => ({ nodeId, name })),
    call: async (nodeId, question, signal) => {
      const record = others()?.find(({ node_id }) => node_id === nodeId)
      if (record === undefined) throw nodeNotFound(nodeId)
      return await askMember(parts, client, record, { ...question, timeoutMs: TIMEOUT_MS, signal })
    },
  }
}

/** A question that is for the root, wherever that is. */
interface RootCall
  extends Pick<MeshCall, 'method' | 'path' | 'isAnonymous' | 'signal'>,
    Partial<Pick<MeshCall, 'timeoutMs'>> {
  readonly body?: object
  /**
   * What a root of an earlier version does not know, of the body or the query: left out where it refuses that. Of several bodies the
   * next is tried.
   */
  readonly more?: object | readonly object[]
  readonly moreQuery?: string
}

/** Asks the root at each address that is known of it, one after the other. */
export interface RootClient {
  /** Throws `southbound_unavailable` when no answer comes; the next question goes to the next address. */
  call(membership: Membership, call: RootCall): Promise<MeshAnswer>
}

/**
 * Makes it. Addresses: the one that the root has announced (signed, from whomever), the one of the invitation or that an operator has
 * given, and the one in the overlay, where WireGuard follows a root that moves. Whoever answers there must be the root by its
 * certificate. The announced one takes the place of the first once the root has answered there.
 */
export function rootClient({ identity, membershipState }: EnrollParts, client: MeshClient): RootClient {
  let current: string | undefined
  let announced: string | undefined
  const urlsOf = (membership: Membership): readonly string[] => {
    const told = membershipState.rootUrl()
    if (told !== announced) current = undefined
    announced = told
    return [
      ...new Set([...(told === undefined ? [] : [told]), membership.rootUrl, ...overlayUrl(membership)]),
    ]
  }
  const overlayUrl = ({ rootUrl, rootNodeId }: Membership): readonly string[] => {
    const root = membershipState.view()?.members.find(({ node_id }) => node_id === rootNodeId)
    const port = new URL(membershipState.rootUrl() ?? rootUrl).port || '443'
    return root === undefined ? [] : [`https://${root.overlay_address}:${port}`]
  }
  const ask = async (
    url: string,
    { caPem, rootNodeId }: Membership,
    { more, moreQuery = '', ...call }: RootCall,
  ): Promise<MeshAnswer> => {
    const plain = { timeoutMs: TIMEOUT_MS, ...call, url, caPem, nodeId: rootNodeId }
    const bodies = more === undefined ? [] : [more].flat()
    const tries = [
      ...(moreQuery === '' ? [] : [{ ...plain, path: call.path + moreQuery }]),
      ...bodies.map((one) => ({ ...plain, body: { ...call.body, ...one } })),
    ]
    for (const one of tries) {
      const answer = await client.call(one)
      if (answer.status !== 400 || codeIn(answer.body) !== 'validation_failed') return answer
    }
    return await client.call(plain)
  }
  return {
    call: async (membership, call) => {
      const urls = urlsOf(membership)
      const url = current !== undefined && urls.includes(current) ? current : (urls[0] ?? membership.rootUrl)
      try {
        const answer = await ask(url, membership, call)
        current = url
        const now = identity.membership()
        if (url === announced && now?.rootNodeId === membership.rootNodeId && now.rootUrl !== url)
          await identity.adopt({ ...now, rootUrl: url })
        return answer
      } catch (error) {
        // Whoever asked beside this one may have gone on already.
        if (current === undefined || current === url) current = urls[(urls.indexOf(url) + 1) % urls.length]
        throw error
      }
    },
  }
}
