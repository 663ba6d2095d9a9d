import type { RspCurve } from '../../src/bsp.ts'
import { type Issued, issueCi, issueEuicc, issueEum } from '../../src/x509-issue.ts'

export const NOW: number = Date.parse('2026-11-22T00:00:00Z')
export const EID = '89049032123451234512345678901235'
export const TIMES = { notBeforeMs: NOW - 1000, notAfterMs: Date.UTC(2056, 0, 1) }
export const EUM_NAME = { country: 'ES', organization: 'RSP Test EUM', commonName: 'EUM Test' }

/** A CI of its own for each test. */
export function newCi(curve: RspCurve): Issued {
  const subject = { country: 'IT', organization: 'RSPTEST', unit: 'TESTCERT', commonName: 'Test CI' }
  return issueCi(curve, { ...TIMES, subject, registeredId: '2.999.1' })
}

/** What a test may have otherwise. */
export interface Otherwise {
  readonly variant?: 'O' | 'v3'
  readonly iins?: readonly string[]
  readonly eid?: string
  readonly organization?: string
  readonly eumTimes?: { readonly notBeforeMs: number; readonly notAfterMs: number }
  readonly euiccTimes?: { readonly notBeforeMs: number; readonly notAfterMs: number }
}

/** An EUM and an eUICC below a CI. */
export function below(ci: Issued, otherwise: Otherwise = {}): { eum: Issued; euicc: Issued } {
  const variant = otherwise.variant ?? 'O'
  const eum = issueEum(ci, {
    ...(otherwise.eumTimes ?? TIMES),
    subject: EUM_NAME,
    registeredId: '2.999.5',
    iins: otherwise.iins ?? ['89049032'],
    variant,
  })
  const euicc = issueEuicc(eum, {
    ...(otherwise.euiccTimes ?? { ...TIMES, notAfterMs: Date.UTC(9999, 11, 31, 23, 59, 59) }),
    subject: {
      country: 'ES',
      organization: otherwise.organization ?? EUM_NAME.organization,
      serialNumber: otherwise.eid ?? EID,
      commonName: 'Test eUICC',
    },
    variant,
  })
  return { eum, euicc }
}
