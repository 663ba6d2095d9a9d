import { isIP } from 'node:net'
import { type Issued, issueCi, issueDp, issueTls, type RspCurve } from '@steeple/sgp22'
import type { RspIdentity } from '../parts.ts'
import type { HeldCertificate, NewCertificate } from './held.ts'
import { anyClient, tlsCertificate } from './sets.ts'

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

/**
 * CERT.DPtls where sets are there and none is valid: under each CI of theirs whose key is here. Where no such key is, there is
 * only an own CI to sign it, which programs that look at no certificate take, as lpac does, and a phone does not.
 */
export function missingTls(
  certs: { all(): readonly HeldCertificate[]; identities(): readonly RspIdentity[] },
  host: string,
  nowMs: number,
): readonly NewCertificate[] {
  const held = certs.all()
  const sets = certs.identities()
  if (sets.length === 0 || tlsCertificate(held, anyClient(), nowMs) !== undefined) return []
  const signed = sets.flatMap(({ ciPkid }) => {
    const ci = ownCiOf({ row: { ci_pkid: ciPkid } }, held)
    return ci === undefined ? [] : [newTls(ci, [host], nowMs)]
  })
  if (signed.length > 0) return signed
  return newHierarchy('P-256', host, nowMs).filter(({ role }) => role === 'ci' || role === 'dptls')
}

/** The host of an address: without its port, in lower case. */
export function hostOf(address: string): string {
  const text = address.replace(/^\[(.*)\](:\d+)?$/, '$1')
  return (isIP(text) === 0 ? text.replace(/:\d{1,5}$/, '') : text).toLowerCase()
}

/** The CI of a certificate, when its key is here. */
export function ownCiOf(
  one: { readonly row: Pick<HeldCertificate['row'], 'ci_pkid'> },
  held: readonly HeldCertificate[],
): Issued | undefined {
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
