import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  type Certificate,
  isSameName,
  isSignedBy,
  publicKeyOf,
  type RspCurve,
  readCertificate,
  X509Error,
} from '@steeple/sgp22'

/** One identity of an eUICC, as it is made: certificates in DER, and its private key. */
export interface EuiccChain {
  readonly curve: RspCurve
  readonly ciDer: Uint8Array
  readonly eumDer: Uint8Array
  readonly euiccDer: Uint8Array
  readonly euiccKey: KeyObject
}

/** A chain that was read and found whole. */
export interface Chain extends EuiccChain {
  readonly ci: Certificate
  /** The CI's subject key identifier. */
  readonly ciPkid: Uint8Array
}

/** A chain that an eUICC cannot be made with. The message says why. */
export class ChainError extends Error {}

/** Reads a chain and holds it together: CI, EUM, eUICC, EID and key. Throws `ChainError`. */
export function readChain(chain: EuiccChain, eid: string): Chain {
  try {
    const ci = readCertificate(chain.ciDer)
    const eum = readCertificate(chain.eumDer)
    const euicc = readCertificate(chain.euiccDer)
    checkIssued(eum, ci)
    checkIssued(euicc, eum)
    checkRole(euicc, 'euicc')
    if (ci.subjectKeyId === undefined) throw new ChainError('the CI has no subject key identifier')
    if (ci.curve !== chain.curve) throw new ChainError(`the chain is on ${ci.curve}, not on ${chain.curve}`)
    if (euicc.subject.serialNumber !== eid) throw new ChainError('CERT.EUICC is for another EID')
    if (!createPublicKey(chain.euiccKey).equals(publicKeyOf(euicc)))
      throw new ChainError('the key is not the one of CERT.EUICC')
    return { ...chain, ci, ciPkid: Buffer.from(ci.subjectKeyId, 'hex') }
  } catch (cause) {
    if (!(cause instanceof X509Error)) throw cause
    throw new ChainError(`a chain of the eUICC is not good: ${cause.message}`, { cause })
  }
}

/**
 * Holds a certificate to its issuer's: name, key identifier, signature, and that the issuer may sign.
 * Throws `X509Error`. Dates are not looked at: an eUICC has no clock. SGP.22 §4.5.2.2.
 */
export function checkIssued(certificate: Certificate, issuer: Certificate): void {
  if (issuer.subjectKeyId === undefined || certificate.authorityKeyId !== issuer.subjectKeyId)
    throw new X509Error('names another issuer by its authority key identifier')
  if (!isSameName(certificate.issuer, issuer.subject)) throw new X509Error('names another issuer')
  if (!issuer.isCa || !issuer.keyUsage.includes('keyCertSign'))
    throw new X509Error('is signed by one who may not sign certificates')
  if (certificate.curve !== issuer.curve) throw new X509Error('is on another curve than its issuer')
  if (!isSignedBy(certificate, publicKeyOf(issuer)))
    throw new X509Error('has a signature that is not its issuer’s')
}

/** Holds an end entity to its role, by the policies of variant O. Throws `X509Error`. SGP.22 §4.5.2.1. */
export function checkRole(certificate: Certificate, role: 'dpauth' | 'dppb' | 'euicc'): void {
  if (certificate.role !== role || certificate.variant !== 'O')
    throw new X509Error('does not have the role that it is used in')
  if (!certificate.keyUsage.includes('digitalSignature'))
    throw new X509Error('may not be used for signatures')
  if (certificate.isCa) throw new X509Error('is one of an authority')
}
