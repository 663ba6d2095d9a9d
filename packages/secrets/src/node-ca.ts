import { createPublicKey, X509Certificate } from 'node:crypto'
import { type Clock, type NodeCa, validationFailed } from '@steeple/contracts'
import { BACKDATE_MS } from './node-files.ts'
import type { Secrets } from './open-secrets.ts'

/** This node's own CA. Its key is read from the disk for each signature and not kept. */
export function openNodeCa(secrets: Secrets, clock: Clock): NodeCa {
  return {
    caPem: secrets.caPem,
    caSha256: secrets.identity.caSha256,
    readRequest: async (pem, own) => {
      const { readRequest } = await import('./x509-lists.ts')
      return await readRequest(pem, own)
    },
    issue: async (wish) => {
      const { issueCertificate } = await import('./x509.ts')
      const publicKey = createPublicKey({ key: Buffer.from(wish.publicKey), format: 'der', type: 'spki' })
      if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
        throw validationFailed('a certificate is for an ECDSA key on P-256 alone')
      const pem = await issueCertificate({
        caKeyPem: secrets.caKeyPem(),
        caPem: secrets.caPem,
        publicKey,
        commonName: wish.commonName,
        uri: wish.uri,
        dnsNames: wish.dnsNames ?? [],
        addresses: wish.addresses ?? [],
        notBeforeMs: clock.nowMs() - BACKDATE_MS,
        notAfterMs: wish.notAfterMs,
      })
      const certificate = new X509Certificate(pem)
      return {
        pem,
        serial: certificate.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
        notAfterMs: Date.parse(certificate.validTo),
      }
    },
    signRevocations: async (list, validity) => {
      const { createCrl } = await import('./x509-lists.ts')
      return await createCrl({ caKeyPem: secrets.caKeyPem(), caPem: secrets.caPem, list, ...validity })
    },
  }
}
