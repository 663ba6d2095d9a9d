import {
  type CertificateHolders,
  type ClientCertificate,
  certificateRevoked,
  expandRoles,
} from '@steeple/contracts'
import { memberOf } from './learnt.ts'
import type { EnrollParts } from './parts.ts'
import type { KnownCertificate } from './roster.ts'
import { findCertificate } from './store.ts'

const NODE = expandRoles(['node'])

/** The member that a certificate stands for. */
type Found = { readonly name: string } | undefined

/**
 * Says which node a client certificate stands for, from memory where no other instance changes the same store.
 *
 * At the root only certificates that it has recorded; elsewhere those of the mesh's CA that are on no list that this node
 * has heard of. This node's own certificate stands for itself. Throws `certificate_revoked`.
 */
export function nodeCertificates(parts: EnrollParts): CertificateHolders {
  const { context, identity } = parts
  return {
    holderOf: async (certificate) => {
      if (!context.config.enabled) return undefined
      const found =
        identity.membership() === undefined
          ? memberHere(parts, certificate)
          : memberElsewhere(parts, certificate)
      // From memory it is there at once.
      const holder = found instanceof Promise ? await found : found
      if (holder === undefined) return undefined
      const { name: id, notAfterMs } = certificate
      return { kind: 'node', id, name: holder.name, roles: NODE, expiresAtMs: notAfterMs }
    },
  }
}

/** From memory, unless another instance on the same store may have issued or revoked it. */
function memberHere(parts: EnrollParts, certificate: ClientCertificate): Found | Promise<Found> {
  const { authority, context, node, roster } = parts
  const { serial, name, caSha256 } = certificate
  if (caSha256 !== authority.caSha256) return undefined
  if (name === node.nodeId) return node
  if (context.db.dialect === 'sqlite') return memberBy(roster.certificate(serial), parts, name)
  return findCertificate(context.db, serial).then((row) =>
    memberBy(row && { nodeId: row.node_id, isRevoked: row.revoked_at_ms !== null }, parts, name),
  )
}

function memberBy(known: KnownCertificate | undefined, { roster }: EnrollParts, name: string): Found {
  if (known === undefined || known.nodeId !== name) return undefined
  if (known.isRevoked) throw certificateRevoked()
  return { name: roster.member(name)?.name ?? name }
}

function memberElsewhere({ learnt }: EnrollParts, { serial, name, caSha256 }: ClientCertificate): Found {
  if (caSha256 !== learnt.caSha256()) return undefined
  if (learnt.isRevoked(serial)) throw certificateRevoked()
  return { name: memberOf(learnt.view(), name)?.name ?? name }
}
