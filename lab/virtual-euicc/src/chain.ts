import { createPublicKey, type KeyObject } from 'node:crypto'
import { type Certificate, type Curve, checkIssued, checkRole, ROLE, readCertificate } from './certificate.ts'
import { isSame } from './octets.ts'

/** One identity of an eUICC, as it is made: certificates in DER, and its private key. */
export interface EuiccChain {
  readonly curve: Curve
  readonly ciDer: Uint8Array
  readonly eumDer: Uint8Array
  readonly euiccDer: Uint8Array
  readonly euiccKey: KeyObject
}

/** A chain that was read and found whole. */
export interface Chain {
  readonly curve: Curve
  readonly ci: Certificate
  /** The CI's subject key identifier. */
  readonly ciPkid: Uint8Array
  readonly eumDer: Uint8Array
  readonly euiccDer: Uint8Array
  readonly euiccKey: KeyObject
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
    checkRole(euicc, ROLE.euicc)
    if (ci.subjectKeyId === undefined) throw new ChainError('the CI has no subject key identifier')
    if (ci.curve !== chain.curve) throw new ChainError(`the chain is on ${ci.curve}, not on ${chain.curve}`)
    if (euicc.subjectSerial !== eid) throw new ChainError('CERT.EUICC is for another EID')
    if (!isSame(publicOctets(euicc.key), publicOctets(createPublicKey(chain.euiccKey))))
      throw new ChainError('the key is not the one of CERT.EUICC')
    return {
      curve: chain.curve,
      ci,
      ciPkid: ci.subjectKeyId,
      eumDer: chain.eumDer,
      euiccDer: chain.euiccDer,
      euiccKey: chain.euiccKey,
    }
  } catch (cause) {
    if (cause instanceof ChainError) throw cause
    throw new ChainError(`a chain of the eUICC is not good: ${cause instanceof Error ? cause.message : ''}`, {
      cause,
    })
  }
}

function publicOctets(key: KeyObject): Uint8Array {
  return Uint8Array.from(key.export({ format: 'der', type: 'spki' }))
}
