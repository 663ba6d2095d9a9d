/** What a certificate is for, in this field. SGP.22 §2.4a.1, SGP.22 v3 annex. */
export type CertificateRole = 'ci' | 'euicc' | 'eum' | 'dptls' | 'dpauth' | 'dppb'

/** Policies by which a certificate says its role. `v3`: those of the new variants (SGP.22 v3; SGP.26 v3 variants A, B, C, Ov3). */
export const ROLE_POLICIES: readonly {
  readonly oid: string
  readonly role: CertificateRole
  readonly variant: 'O' | 'v3'
}[] = [
  { oid: '2.23.146.1.2.1.0', role: 'ci', variant: 'O' },
  { oid: '2.23.146.1.2.1.1', role: 'euicc', variant: 'O' },
  { oid: '2.23.146.1.2.1.2', role: 'eum', variant: 'O' },
  { oid: '2.23.146.1.2.1.3', role: 'dptls', variant: 'O' },
  { oid: '2.23.146.1.2.1.4', role: 'dpauth', variant: 'O' },
  { oid: '2.23.146.1.2.1.5', role: 'dppb', variant: 'O' },
  { oid: '2.23.146.1.2.1.0.0.0', role: 'eum', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.0.0.0', role: 'euicc', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.0', role: 'dptls', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.1', role: 'dpauth', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.2', role: 'dppb', variant: 'v3' },
]

/** The role that the policies say; undefined when they say none, or two. */
export function roleOf(
  policies: readonly string[],
): { readonly role: CertificateRole; readonly variant: 'O' | 'v3' } | undefined {
  const [first, second] = ROLE_POLICIES.filter(({ oid }) => policies.includes(oid))
  return second === undefined ? first : undefined
}
