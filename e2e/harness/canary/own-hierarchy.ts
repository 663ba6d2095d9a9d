import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Issued, issueCi, issueDp, issueEum, issueTls, type RspCurve } from '@steeple/sgp22'
import type { LabEum } from '../esim.ts'
import { bytesNeedle, type Needle } from './needles.ts'

const IIN = '89049032'
const DAY_MS = 86_400_000
const CURVES: readonly RspCurve[] = ['P-256', 'brainpoolP256r1']

/** A hierarchy whose private keys a test knows. */
export interface OwnHierarchy {
  readonly eums: readonly LabEum[]
  /** Its private keys, as numbers. */
  readonly needles: readonly Needle[]
}

/** Writes certificates and keys of an SM-DP+ on both curves into a folder, as an operator gets them: PEM. */
export function ownHierarchy(folder: string, host: string): OwnHierarchy {
  mkdirSync(folder, { recursive: true })
  const notBeforeMs = Math.floor(Date.now() / 1_000) * 1_000 - DAY_MS
  const validity = { notBeforeMs, notAfterMs: notBeforeMs + 300 * DAY_MS }
  const needles: Needle[] = []
  const eums = CURVES.map((curve): LabEum => {
    const of = (commonName: string) => ({
      ...validity,
      subject: { country: 'ZZ', organization: 'Canary', commonName: `${commonName} ${curve}` },
    })
    const registeredId = '2.999.10'
    const ci = issueCi(curve, { ...of('CI'), registeredId: '2.999.1' })
    const keep = (name: string, { certificate, key }: Issued): void => {
      // RFC 5915: version and number come first.
      const number = key.export({ format: 'der', type: 'sec1' }).subarray(7, 39)
      needles.push(bytesNeedle(`the key of ${name} on ${curve}`, number))
      writeFileSync(join(folder, `${name}-${curve}.pem`), pem(certificate.raw))
      writeFileSync(join(folder, `${name}-${curve}.key`), key.export({ format: 'pem', type: 'pkcs8' }))
    }
    writeFileSync(join(folder, `ci-${curve}.pem`), pem(ci.certificate.raw))
    keep('dpauth', issueDp(ci, 'dpauth', { ...of('DPauth'), registeredId }))
    keep('dppb', issueDp(ci, 'dppb', { ...of('DPpb'), registeredId }))
    keep('dptls', issueTls(ci, { ...validity, organization: 'Canary', hosts: [host], registeredId }))
    const eum = issueEum(ci, { ...of('EUM'), registeredId: '2.999.5', iins: [IIN] })
    const base64 = (der: Uint8Array): string => Buffer.from(der).toString('base64')
    return { curve, iin: IIN, ci: base64(ci.certificate.raw), eum: base64(eum.certificate.raw), key: eum.key }
  })
  return { eums, needles }
}

function pem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
