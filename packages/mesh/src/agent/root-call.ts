import type { MeshMembership } from '@steeple/contracts'
import type { EnrollParts } from '../enroll/parts.ts'
import { codeIn, type MeshAnswer, type MeshCall, type MeshClient } from './mesh-client.ts'

const TIMEOUT_MS = 10_000

/** A question that is for the root, wherever that is. */
export interface RootCall
  extends Pick<MeshCall, 'method' | 'path' | 'isAnonymous' | 'signal'>,
    Partial<Pick<MeshCall, 'timeoutMs'>> {
  readonly body?: object
  /** What a root of an earlier version does not know: left out where it refuses that. */
  readonly more?: object
}

/** Asks the root at each address that is known of it, one after the other. */
export interface RootClient {
  /** Throws `southbound_unavailable` when no answer comes; the next question goes to the next address. */
  call(membership: MeshMembership, call: RootCall): Promise<MeshAnswer>
}

/**
 * Makes it. Addresses: the one that the root has announced (signed, from whomever), the one of the invitation or that an operator has
 * given, and the one in the overlay, where WireGuard follows a root that moves. Whoever answers there must be the root by its
 * certificate. The announced one takes the place of the first once the root has answered there.
 */
export function rootClient({ identity, membershipState }: EnrollParts, client: MeshClient): RootClient {
  let current: string | undefined
  let announced: string | undefined
  const urlsOf = (membership: MeshMembership): readonly string[] => {
    const told = membershipState.rootUrl()
    if (told !== announced) current = undefined
    announced = told
    return [
      ...new Set([...(told === undefined ? [] : [told]), membership.rootUrl, ...overlayUrl(membership)]),
    ]
  }
  const overlayUrl = ({ rootUrl, rootNodeId }: MeshMembership): readonly string[] => {
    const root = membershipState.view()?.members.find(({ node_id }) => node_id === rootNodeId)
    const port = new URL(membershipState.rootUrl() ?? rootUrl).port || '443'
    return root === undefined ? [] : [`https://${root.overlay_address}:${port}`]
  }
  const ask = async (
    url: string,
    { caPem, rootNodeId }: MeshMembership,
    { more, ...call }: RootCall,
  ): Promise<MeshAnswer> => {
    const whole = { timeoutMs: TIMEOUT_MS, ...call, url, caPem, nodeId: rootNodeId }
    const answer = await client.call({ ...whole, ...(more && { body: { ...call.body, ...more } }) })
    const isUnknown =
      more !== undefined && answer.status === 400 && codeIn(answer.body) === 'validation_failed'
    return isUnknown ? await client.call(whole) : answer
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
