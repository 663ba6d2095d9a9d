import { X509Certificate } from 'node:crypto'
import { isServiceError, type MeshMembership } from '@steeple/contracts'
import { serialOf } from '../certificate.ts'
import { CERTIFICATE_LIFE_MS, renewalPurpose } from '../enroll/certificate-life.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { enrolledFrom, refusal } from './answers.ts'
import { fieldOf } from './mesh-client.ts'
import type { RootClient } from './root-call.ts'

/** The root gives the same certificate again while half of its life is left, and its clock may be another. */
const AGAIN_MS = 3_600_000

/** The certificate of this node in the mesh: whether it is to be renewed, and how. */
export interface OwnCertificate {
  /** Renews it when half of its life is over, also when it has expired. Throws what keeps it from that. */
  renewWhenDue(membership: MeshMembership, signal: AbortSignal): Promise<void>
}

/** Keeps the certificate. */
export function ownCertificate(
  parts: Pick<EnrollParts, 'context' | 'identity' | 'node'>,
  root: RootClient,
): OwnCertificate {
  const { context, identity, node } = parts
  let askedMs = Number.NEGATIVE_INFINITY
  const ask = async (membership: MeshMembership, isExpired: boolean, signal: AbortSignal) => {
    const csrPem = await identity.request()
    if (!isExpired) {
      const path = `/v1/nodes/${node.nodeId}/enroll`
      const body = { csr_pem: csrPem, name: node.name }
      return await root.call(membership, { signal, method: 'POST', path, body })
    }
    const anonymous = { signal, isAnonymous: true }
    const challenge = await root.call(membership, { ...anonymous, method: 'GET', path: '/v1/mesh/challenge' })
    const nonce = fieldOf(challenge.body, 'nonce')
    if (typeof nonce !== 'string') throw refusal(challenge)
    const body = {
      certificate_pem: membership.certificatePem,
      csr_pem: csrPem,
      nonce,
      signature: Buffer.from(identity.sign(renewalPurpose(nonce, csrPem))).toString('base64'),
    }
    return await root.call(membership, { ...anonymous, method: 'POST', path: '/v1/mesh/renew', body })
  }
  return {
    renewWhenDue: async (membership, signal) => {
      const nowMs = context.clock.nowMs()
      const endMs = Date.parse(new X509Certificate(membership.certificatePem).validTo)
      const isExpired = nowMs >= endMs
      if (nowMs < endMs - CERTIFICATE_LIFE_MS / 2) return
      const sinceMs = context.clock.monotonicMs() - askedMs
      if (!isExpired && sinceMs < AGAIN_MS) return
      const enrolled = enrolledFrom(await ask(membership, isExpired, signal))
      askedMs = context.clock.monotonicMs()
      if (enrolled.certificatePem === membership.certificatePem) return
      // The node may have left meanwhile, or know the root at another address.
      const now = identity.membership()
      if (now?.rootNodeId !== membership.rootNodeId) return
      await identity.adopt({ ...now, certificatePem: enrolled.certificatePem })
      context.log.info(
        { serial: serialOf(new X509Certificate(enrolled.certificatePem)) },
        'certificate of the mesh renewed',
      )
    },
  }
}

/** Whether another box said that the certificate of this one is worth nothing. */
export function isCertificateRefused(error: unknown): boolean {
  return isServiceError(error) && / 401 certificate_revoked/.test(error.message)
}
