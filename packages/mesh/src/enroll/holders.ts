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
      const holder =
        identity.membership() === undefined
          ? await memberHere(parts, certificate)
          : memberElsewhere(parts, certificate)
      if (holder === undefined) return undefined
      const { name: id, notAfterMs } = certificate
      return { kind: 'node', id, name: holder.name, roles: NODE, expiresAtMs: notAfterMs }
    },
  }
}

async function memberHere(
  parts: EnrollParts,
  { serial, name, caSha256 }: ClientCertificate,
): Promise<{ readonly name: string } | undefined> {
  const { authority, node, roster } = parts
  if (caSha256 !== authority.caSha256) return undefined
  if (name === node.nodeId) return node
  const known = await knownHere(parts, serial)
  if (known === undefined || known.nodeId !== name) return undefined
  if (known.isRevoked) throw certificateRevoked()
  return { name: roster.member(name)?.name ?? name }
}

/** From memory, unless another instance on the same store may have issued or revoked it. */
async function knownHere(
  { roster, context }: EnrollParts,
  serial: string,
): Promise<KnownCertificate | undefined> {
  if (context.db.dialect === 'sqlite') return roster.certificate(serial)
  const row = await findCertificate(context.db, serial)
  return row && { nodeId: row.node_id, isRevoked: row.revoked_at_ms !== null }
}

function memberElsewhere(
  { learnt }: EnrollParts,
  { serial, name, caSha256 }: ClientCertificate,
): { readonly name: string } | undefined {
  if (caSha256 !== learnt.caSha256()) return undefined
  if (learnt.isRevoked(serial)) throw certificateRevoked()
  return { name: memberOf(learnt.view(), name)?.name ?? name }
}
