import { X509Certificate } from 'node:crypto'
import { type Membership, systemPrincipal } from '@steeple/contracts'
import { serialOf } from '../certificate.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { fieldOf } from './mesh-client.ts'
import type { RootClient } from './root-call.ts'

/** How this node hears which certificates are revoked, its own among them. */
export interface RevocationListener {
  /** Takes a list from whomever, and ends the membership when it names this node's certificate. */
  take(pem: string): Promise<void>
  /** Asks the root without showing a certificate: it answers those too that it has put out. */
  askRoot(membership: Membership): Promise<void>
}

export function revocationListener(parts: EnrollParts, root: RootClient): RevocationListener {
  const { context, identity, membershipState, node } = parts
  const expelled = async (membership: Membership): Promise<void> => {
    await identity.forget()
    await membershipState.clear({ mesh: membership.meshName, atMs: context.clock.nowMs() })
    context.log.warn({ mesh: membership.meshName }, 'this node was taken out of the mesh by its root')
    await context.mutate(systemPrincipal('mesh'), 'node.expelled', node.nodeId, async (tx) => {
      tx.audit({ detail: { mesh: membership.meshName } })
    })
  }
  const take = async (pem: string): Promise<void> => {
    if (identity.membership() === undefined) return
    await membershipState.takeList(pem)
    const membership = identity.membership()
    if (
      membership !== undefined &&
      membershipState.isRevoked(serialOf(new X509Certificate(membership.certificatePem)))
    )
      await expelled(membership)
  }
  return {
    take,
    askRoot: async (membership) => {
      const { body } = await root.call(membership, {
        signal: context.retiring,
        method: 'GET',
        path: '/v1/mesh/crl',
        isAnonymous: true,
      })
      const pem = fieldOf(body, 'crl_pem')
      if (typeof pem === 'string') await take(pem)
    },
  }
}
