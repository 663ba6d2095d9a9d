import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Certificate, readCertificate } from '@steeple/sgp22'
import type { Curve } from '@steeple/virtual-euicc'

/** One who makes eUICCs: a certificate under a CI, and the key to sign those of eUICCs with. */
export interface Eum {
  readonly curve: Curve
  readonly ciDer: Uint8Array
  readonly certificate: Certificate
  readonly key: KeyObject
  /** Digits that the EIDs of its eUICCs begin with. */
  readonly iin: string
}

/** A lab core that cannot make eUICCs. The message says what to do. */
export class EumError extends Error {}

/** Where `svc esim certs lab-eum` has to write it, in the folder of the lab core. */
export const EUM_FILE = 'eum.json'

/**
 * The makers of the lab's eUICCs, as `svc esim certs lab-eum` writes them: JSON `{eums: [{curve, iin, ci, eum, key}]}`,
 * certificates in base64 (DER), keys in PEM (PKCS #8). Throws `EumError`.
 */
export async function readEums(path: string): Promise<readonly Eum[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new EumError(
      `the lab has nobody who makes eUICCs yet: svc esim certs init, then svc esim certs lab-eum --out ${path}`,
      { cause },
    )
  })
  try {
    const { eums } = JSON.parse(text) as { readonly eums: readonly Record<string, string>[] } // checked below
    const read = eums.map(eumOf)
    if (read.length > 0) return read
  } catch (cause) {
    throw new EumError(`${path} cannot be read; write it anew: svc esim certs lab-eum --out ${path}`, {
      cause,
    })
  }
  throw new EumError(`${path} is empty; write it anew: svc esim certs lab-eum --out ${path}`)
}

function eumOf({ curve, iin = '', ci = '', eum = '', key = '' }: Record<string, string>): Eum {
  const certificate = readCertificate(Buffer.from(eum, 'base64'))
  if ((curve !== 'P-256' && curve !== 'brainpoolP256r1') || !/^[0-9]{8}$/.test(iin))
    throw new EumError('a maker has a curve and the digits of its EIDs')
  return {
    curve,
    iin,
    ciDer: Uint8Array.from(Buffer.from(ci, 'base64')),
    certificate,
    key: createPrivateKey(key),
  }
}
