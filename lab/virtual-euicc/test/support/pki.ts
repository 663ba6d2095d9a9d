import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RspCurve } from '@steeple/sgp22'
import type { EuiccChain } from '../../src/certificate.ts'

/** The EID of the fixtures' eUICC. */
export const EID = '89049032123451234512345678901235'

const FOLDERS = { 'P-256': 'NIST', brainpoolP256r1: 'BRP' } as const

export function fixture(name: string): Uint8Array {
  return Uint8Array.from(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)))
}

/** A certificate of the fixtures' hierarchy, DER. */
export function certificate(curve: RspCurve, name: 'ci' | 'eum' | 'euicc' | 'dpauth' | 'dppb'): Uint8Array {
  return fixture(`${FOLDERS[curve]}/${name}.der`)
}

/** A key of the fixtures' hierarchy. */
export function key(curve: RspCurve, name: 'eum' | 'euicc' | 'dpauth' | 'dppb'): KeyObject {
  return createPrivateKey(Buffer.from(fixture(`${FOLDERS[curve]}/${name}.key.pem`)))
}

/** The chain of the fixtures' eUICC. */
export function chain(curve: RspCurve): EuiccChain {
  return {
    curve,
    ciDer: certificate(curve, 'ci'),
    eumDer: certificate(curve, 'eum'),
    euiccDer: certificate(curve, 'euicc'),
    euiccKey: key(curve, 'euicc'),
  }
}
