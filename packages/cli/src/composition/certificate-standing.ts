import { X509Certificate } from 'node:crypto'

const DAY_MS = 86_400_000
/** Those of nodes are renewed at half of 30 days, those of public CAs a month before they end or later. */
const WARN_DAYS = 7

/** How a certificate stands by the clock. */
export interface CertificateStanding {
  readonly state: 'good' | 'early' | 'ending' | 'expired'
  /** Whole days until its end; below zero when it is over. */
  readonly leftDays: number
  /** RFC 3339. */
  readonly validFrom: string
}

/** Whether a certificate (PEM; the first of a chain) is good, is not yet, ends within a week, or has ended. */
export function certificateStanding(pem: string, nowMs: number): CertificateStanding {
  const certificate = new X509Certificate(pem)
  const fromMs = Date.parse(certificate.validFrom)
  const leftDays = Math.floor((Date.parse(certificate.validTo) - nowMs) / DAY_MS)
  const ending = leftDays < WARN_DAYS ? 'ending' : 'good'
  const state = nowMs < fromMs ? 'early' : leftDays < 0 ? 'expired' : ending
  return { state, leftDays, validFrom: new Date(fromMs).toISOString() }
}
