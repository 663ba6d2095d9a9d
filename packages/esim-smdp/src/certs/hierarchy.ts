import { type Issued, issueCi, issueDp, issueTls, type RspCurve } from '@steeple/sgp22'
import type { HeldCertificate, NewCertificate } from './held.ts'

/** Those of SGP.26 for the first test SM-DP+ and the test CI: nobody else's. */
const OWNER = '2.999.10'
const CI_ID = '2.999.1'
const ORGANIZATION = 'Steeple'

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
/** A clock of a phone that is a little slow must not find them in the future. */
const EARLIER_MS = 3_600_000
const CI_YEARS = 35
const DP_YEARS = 10
/** No longer than browsers accept of a server: whatever checks this certificate as one of those may. */
const TLS_DAYS = 397

/**
 * A hierarchy of its own on one curve: CI, DPauth, DPpb and DPtls for a host name or address. The CI's key is with it, so
 * that DPtls can be renewed. Extensions as SGP.26 has them.
 */
export function newHierarchy(curve: RspCurve, host: string, nowMs: number): readonly NewCertificate[] {
  const notBeforeMs = wholeSecond(nowMs) - EARLIER_MS
  const until = (years: number): { notBeforeMs: number; notAfterMs: number } => ({
    notBeforeMs,
    notAfterMs: notBeforeMs + years * YEAR_MS,
  })
  const ci = issueCi(curve, {
    ...until(CI_YEARS),
    subject: { country: 'ZZ', organization: ORGANIZATION, unit: 'TESTCERT', commonName: `Test CI ${curve}` },
    registeredId: CI_ID,
  })
  const subject = { organization: ORGANIZATION, commonName: 'Test SM-DP+' }
  const dp = { ...until(DP_YEARS), subject, registeredId: OWNER }
  return [
    kept('ci', ci, ci),
    kept('dpauth', issueDp(ci, 'dpauth', dp), ci),
    kept('dppb', issueDp(ci, 'dppb', dp), ci),
    newTls(ci, [host], nowMs),
  ]
}

/** CERT.DPtls under a CI whose key is here. */
export function newTls(ci: Issued, hosts: readonly [string, ...string[]], nowMs: number): NewCertificate {
  const notBeforeMs = wholeSecond(nowMs) - EARLIER_MS
  const tls = issueTls(ci, {
    notBeforeMs,
    notAfterMs: Math.min(notBeforeMs + TLS_DAYS * DAY_MS, ci.certificate.notAfterMs),
    organization: ci.certificate.subject.organization ?? ORGANIZATION,
    hosts,
    registeredId: OWNER,
  })
  return kept('dptls', tls, ci)
}

/** The CI of a certificate, when its key is here. */
export function ownCiOf(one: HeldCertificate, held: readonly HeldCertificate[]): Issued | undefined {
  const ci = held.find(
    ({ row, key }) => row.role === 'ci' && row.ci_pkid === one.row.ci_pkid && key !== undefined,
  )
  return ci?.key && { certificate: ci.certificate, key: ci.key }
}

/** Certificates know no milliseconds. */
function wholeSecond(ms: number): number {
  return ms - (ms % 1_000)
}

function kept(role: NewCertificate['role'], { certificate, key }: Issued, ci: Issued): NewCertificate {
  return { role, certificate, ciPkid: ci.certificate.subjectKeyId ?? '', key }
}
