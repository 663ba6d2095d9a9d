import { type Issued, issueCi, issueDp, issueEuicc, issueEum, oidOctets, type RspCurve } from '@steeple/sgp22'
import type { EuiccChain } from '@steeple/virtual-euicc'
import type { RspIdentity } from '../../src/parts.ts'

/** A CI with all that hangs on it. */
export interface Pki {
  readonly identity: RspIdentity
  /** Another set under the same CI, as after a renewal. */
  renewed(): RspIdentity
  readonly ci: Issued
  readonly eum: Issued
  /** The chain of an eUICC with that EID; made anew at each call. */
  chain(eid: string, validity?: Partial<Validity>): EuiccChain
}
interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** Digits that the EIDs of the test EUM begin with. */
export const IIN = '89049032'
const OWNER = '2.999.10'
const ALWAYS: Validity = { notBeforeMs: Date.UTC(2020, 0, 1), notAfterMs: Date.UTC(2049, 0, 1) }

/** The EID of the test eUICC with that number. */
export function eidOf(number: number): string {
  return IIN + String(number).padStart(24, '0')
}

/** A hierarchy as SGP.26 has it, with keys of its own. */
export function pki(curve: RspCurve, eumValidity: Partial<Validity> = {}): Pki {
  const terms = (commonName: string, more: object = {}) => ({
    ...ALWAYS,
    ...more,
    subject: { organization: 'Steeple test', commonName },
  })
  const ci = issueCi(curve, { ...terms('CI'), registeredId: '2.999.1' })
  const set = (): RspIdentity => {
    const [auth, pb] = (['dpauth', 'dppb'] as const).map((role) =>
      issueDp(ci, role, { ...terms(role), registeredId: OWNER }),
    )
    if (auth === undefined || pb === undefined) throw new Error('two certificates were issued')
    return {
      id: Buffer.from(pb.certificate.raw).toString('base64'),
      ciPkid: ci.certificate.subjectKeyId ?? '',
      authority: 'own',
      curve,
      ci: ci.certificate.raw,
      auth: { der: auth.certificate.raw, key: auth.key },
      pb: { der: pb.certificate.raw, key: pb.key },
      owner: OWNER,
      ownerOctets: oidOctets(OWNER) ?? new Uint8Array(),
    }
  }
  const eum = issueEum(ci, { ...terms('EUM', eumValidity), registeredId: '2.999.5', iins: [IIN] })
  return {
    ci,
    eum,
    identity: set(),
    renewed: set,
    chain: (eid, validity = {}) => {
      const { subject, ...rest } = terms('eUICC', validity)
      const euicc = issueEuicc(eum, { ...rest, subject: { ...subject, serialNumber: eid } })
      return {
        curve,
        ciDer: ci.certificate.raw,
        eumDer: eum.certificate.raw,
        euiccDer: euicc.certificate.raw,
        euiccKey: euicc.key,
      }
    },
  }
}
