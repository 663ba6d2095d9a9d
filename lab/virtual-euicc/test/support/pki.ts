import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Curve, EuiccChain } from '../../src/certificate.ts'

/** The EID of the fixtures' eUICC. */
export const EID = '89049032123451234512345678901235'

const FOLDERS = { 'P-256': 'NIST', brainpoolP256r1: 'BRP' } as const

export function fixture(name: string): Uint8Array {
  return Uint8Array.from(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)))
}

/** A certificate of the fixtures' hierarchy, DER. */
export function certificate(curve: Curve, name: 'ci' | 'eum' | 'euicc' | 'dpauth' | 'dppb'): Uint8Array {
  return fixture(`${FOLDERS[curve]}/${name}.der`)
}

/** A key of the fixtures' hierarchy. */
export function key(curve: Curve, name: 'eum' | 'euicc' | 'dpauth' | 'dppb'): KeyObject {
  return createPrivateKey(Buffer.from(fixture(`${FOLDERS[curve]}/${name}.key.pem`)))
}

/** The chain of the fixtures' eUICC. */
export function chain(curve: Curve): EuiccChain {
  return {
    curve,
    ciDer: certificate(curve, 'ci'),
    eumDer: certificate(curve, 'eum'),
    euiccDer: certificate(curve, 'euicc'),
    euiccKey: key(curve, 'euicc'),
  }
}
