import { randomInt } from 'node:crypto'
import { issueEuicc } from '@steeple/sgp22'
import { type Curve, type EuiccFile, newEuiccFile } from '@steeple/virtual-euicc'
import { type Eum, EumError } from './eum-file.ts'

/** A certificate of an eUICC outlives every lab. */
const YEARS_MS = 30 * 365 * 86_400_000
const EARLIER_MS = 3_600_000

/** An eUICC fresh from its maker: an EID, and a chain on each curve, or on that one alone. Throws `EumError`. */
export function newEuicc(eums: readonly Eum[], curve: Curve | undefined, nowMs: number): EuiccFile {
  const used = eums.filter((eum) => curve === undefined || eum.curve === curve)
  const [first] = used
  if (first === undefined) throw new EumError(`the lab has nobody who makes eUICCs on ${curve}`)
  const eid = newEid(first.iin)
  const notBeforeMs = nowMs - (nowMs % 1000) - EARLIER_MS
  const chains = used.map((eum) => {
    const { organization = '', country } = eum.certificate.subject
    const issued = issueEuicc(eum, {
      notBeforeMs,
      notAfterMs: Math.min(notBeforeMs + YEARS_MS, eum.certificate.notAfterMs),
      subject: {
        ...(country === undefined ? {} : { country }),
        organization,
        serialNumber: eid,
        commonName: 'Lab eUICC',
      },
    })
    return {
      curve: eum.curve,
      ciDer: eum.ciDer,
      eumDer: eum.certificate.raw,
      euiccDer: issued.certificate.raw,
      euiccKey: issued.key,
    }
  })
  return newEuiccFile(eid, chains)
}

/** 30 digits and two to check them by. GSMA SGP.29 §4. */
function newEid(iin: string): string {
  let digits = iin
  while (digits.length < 30) digits += randomInt(10)
  const rest = Number((BigInt(digits) * 100n) % 97n)
  return digits + String(98 - rest).padStart(2, '0')
}
