import type { KeyObject } from 'node:crypto'
import { type Certificate, isSameName, isSignedBy, nameText, publicKeyOf } from '@steeple/sgp22'
import type { CertRow } from '../store/rows.ts'
import { isPublished, PUBLISHED_WORDS } from './authority.ts'
import type { FileProblem, FoundInFiles } from './files.ts'
import {
  certificateId,
  fits,
  type HeldCertificate,
  listProblem,
  type NewCertificate,
  revocationsIn,
} from './held.ts'

export interface ImportPlan {
  readonly added: readonly NewCertificate[]
  /** Certificates that are there already. */
  readonly unchanged: number
  /** What revocation lists take back and was not taken back before: `revocationId`. */
  readonly revoked: readonly string[]
  /** Files that are refused. The others are good without them. */
  readonly problems: readonly FileProblem[]
}

interface Candidate {
  readonly file: string
  readonly certificate: Certificate
  readonly role: CertRow['role']
}
type Issuer = { readonly certificate: Certificate; readonly key: KeyObject }

const ROLE_WORDS: Readonly<Record<CertRow['role'], string>> = {
  ci: 'CERT.CI',
  dpauth: 'CERT.DPauth',
  dppb: 'CERT.DPpb',
  dptls: 'CERT.DPtls',
  eum: 'CERT.EUM',
}

/** What is known beside the certificates that are held. */
export interface ImportTerms {
  readonly nowMs: number
  /** Ids of certificates that are passed over without a word. */
  readonly left?: ReadonlySet<string>
  /** What is revoked already: `revocationId`. */
  readonly revoked?: ReadonlySet<string>
  /** Also a CI whose key is published beside others, and the other way round. */
  readonly isForced?: boolean
}
const NONE: ReadonlySet<string> = new Set()

/**
 * Looks at what files hold beside what is there: role by policies, chain to a CI, key, owner, curve, validity. SGP.22
 * §4.5.2. Pure.
 */
export function planImport(
  found: FoundInFiles,
  held: readonly HeldCertificate[],
  { nowMs, left = NONE, revoked = NONE, isForced = false }: ImportTerms,
): ImportPlan {
  const problems: FileProblem[] = [...found.problems]
  const refuse = (file: string, problem: string | undefined): boolean => {
    if (problem !== undefined) problems.push({ file, problem })
    return problem !== undefined
  }
  const candidates = once(found.certificates).flatMap(({ file, certificate }) => {
    if (left.has(certificateId(certificate.raw))) return []
    const role = roleOf(certificate)
    if (role === undefined) {
      refuse(file, roleProblem(certificate))
      return []
    }
    return refuse(file, validityProblem(role, certificate, nowMs)) ? [] : [{ file, certificate, role }]
  })
  const newCis = candidates.filter(
    ({ file, role, certificate }) => role === 'ci' && !refuse(file, ciProblem(certificate)),
  )
  const cis = [
    ...held.filter(({ row }) => row.role === 'ci').map(({ certificate }) => certificate),
    ...newCis.map(({ certificate }) => certificate),
  ].map((certificate): Issuer => ({ certificate, key: publicKeyOf(certificate) }))
  const lists = found.lists.filter(
    ({ file, list }) =>
      !refuse(
        file,
        listProblem(
          list,
          cis.map(({ certificate }) => certificate),
        ),
      ),
  )
  const keyOf = (certificate: Certificate): KeyObject | undefined =>
    found.keys.find(({ key }) => fits(key, certificate))?.key ??
    held.find(({ row }) => row.id === certificateId(certificate.raw))?.key
  const signed = candidates.filter(
    ({ file, role, certificate }) =>
      role !== 'ci' &&
      !refuse(file, chainProblem(role, certificate, cis) ?? keyProblem(role, keyOf(certificate))),
  )
  // One that is here already is no problem of its file, even if its partner has been removed since.
  const good = [...newCis, ...signed].filter(
    (one) =>
      !isNew(one, held, keyOf) ||
      !refuse(
        one.file,
        ownerProblem(one.role, one.certificate, signed, held) ??
          (isForced ? undefined : mixProblem(one, signed, held)),
      ),
  )
  const all = [...found.certificates, ...held].map(({ certificate }) => certificate)
  for (const { file, key } of found.keys)
    if (!all.some((certificate) => fits(key, certificate)))
      refuse(file, 'fits none of the certificates; import it together with its certificate')
  const added = good.filter((candidate) => isNew(candidate, held, keyOf))
  return {
    added: added.map((candidate) => newCertificate(candidate, keyOf(candidate.certificate))),
    unchanged: good.length - added.length,
    revoked: [...revocationsIn(lists)].filter((id) => !revoked.has(id)),
    problems,
  }
}

function once<T extends { readonly certificate: Certificate }>(found: readonly T[]): readonly T[] {
  return [...new Map(found.map((one) => [certificateId(one.certificate.raw), one])).values()]
}

function roleOf({ role }: Certificate): CertRow['role'] | undefined {
  return role === 'euicc' ? undefined : role
}

function roleProblem({ role, subject }: Certificate): string {
  return role === 'euicc'
    ? `is the certificate of an eUICC, which belongs to that eUICC alone; leave it out`
    : `is a certificate (${nameText(subject)}) whose policies say no role of SGP.22; it has to be a CERT.CI, CERT.DPauth, CERT.DPpb or CERT.DPtls`
}

function validityProblem(role: CertRow['role'], certificate: Certificate, nowMs: number): string | undefined {
  if (certificate.notAfterMs >= nowMs) return undefined
  const day = new Date(certificate.notAfterMs).toISOString().slice(0, 10)
  return `${ROLE_WORDS[role]} was valid until ${day}; import a newer one`
}

function ciProblem(ci: Certificate): string | undefined {
  if (!isSameName(ci.issuer, ci.subject) || !isSignedBy(ci, publicKeyOf(ci)))
    return 'CERT.CI is not signed by itself; import the root, not a certificate below it'
  if (!ci.isCa || !ci.keyUsage.includes('keyCertSign') || ci.subjectKeyId === undefined)
    return 'CERT.CI may not sign certificates by its own extensions; ask its issuer'
  return undefined
}

function chainProblem(
  role: CertRow['role'],
  certificate: Certificate,
  cis: readonly Issuer[],
): string | undefined {
  const what = ROLE_WORDS[role]
  const wanted = role === 'eum' ? 'keyCertSign' : 'digitalSignature'
  if (!certificate.keyUsage.includes(wanted)) return `${what} lacks the key usage ${wanted}; ask its issuer`
  const above = cis.filter(({ certificate: ci }) => ci.subjectKeyId === certificate.authorityKeyId)
  if (above.length === 0)
    return `${what} is signed by the key ${certificate.authorityKeyId ?? '(none named)'}, and no CERT.CI with it is here; add that CERT.CI`
  if (above.every(({ certificate: ci }) => ci.curve !== certificate.curve))
    return `${what} is on another curve than its CERT.CI; ask its issuer`
  if (!above.some(({ key }) => isSignedBy(certificate, key)))
    return `${what} is not signed by the CERT.CI that it names; one of both files is changed`
  if (role === 'dptls' && certificate.dnsNames.length + certificate.addresses.length === 0)
    return `${what} names no host; ask its issuer for one with the host name of the SM-DP+`
  return undefined
}

function keyProblem(role: CertRow['role'], key: KeyObject | undefined): string | undefined {
  if (role === 'eum' || key !== undefined) return undefined
  return `${ROLE_WORDS[role]} comes without its private key; add the file of the key`
}

/** SGP.22 §4.5.2.1.0.4: DPauth and DPpb of one server have one owner. A lone one waits for the other. */
function ownerProblem(
  role: CertRow['role'],
  certificate: Certificate,
  signed: readonly Candidate[],
  held: readonly HeldCertificate[],
): string | undefined {
  if (role !== 'dpauth' && role !== 'dppb') return undefined
  const owner = certificate.registeredId?.text
  if (owner === undefined) return `${ROLE_WORDS[role]} names no owner (registered id); ask its issuer`
  const other = role === 'dpauth' ? 'dppb' : 'dpauth'
  const others = [
    ...signed,
    ...held.map(({ row, certificate: one }) => ({ role: row.role, certificate: one })),
  ]
    .filter((one) => one.role === other && one.certificate.authorityKeyId === certificate.authorityKeyId)
    .map((one) => one.certificate.registeredId?.text ?? '')
  if (others.length === 0 || others.includes(owner)) return undefined
  return `${ROLE_WORDS[role]} has the owner ${owner}, and each ${ROLE_WORDS[other]} of its CI another one (${[...new Set(others)].join(', ')}); import both of one SM-DP+`
}

/** A published CI names eUICCs as it likes, and whoever is served under another one may be among them. */
function mixProblem(
  { role, certificate }: Candidate,
  signed: readonly Candidate[],
  held: readonly HeldCertificate[],
): string | undefined {
  const pkid = ciOf(role, certificate)
  const isOpen = isPublished(pkid)
  // A CI alone signs for nobody.
  const isUsed = signed.some((one) => one.role === 'dpauth' && one.certificate.authorityKeyId === pkid)
  if (!isUsed || (role !== 'ci' && role !== 'dpauth')) return undefined
  const others = [
    ...held.filter(({ row, isRevoked }) => row.role === 'dpauth' && isRevoked !== true),
    ...signed.filter((one) => one.role === 'dpauth'),
  ].filter((one) => isPublished(one.certificate.authorityKeyId ?? '') !== isOpen)
  if (others.length === 0) return undefined
  return isOpen
    ? `${ROLE_WORDS[role]} is for tests: ${PUBLISHED_WORDS}; beside certificates of another CI it is refused unless forced`
    : `${ROLE_WORDS[role]} would stand beside a test CI of SGP.26: ${PUBLISHED_WORDS}; remove that one first (svc esim certs list), or force it`
}

function ciOf(role: CertRow['role'], certificate: Certificate): string {
  return (role === 'ci' ? certificate.subjectKeyId : certificate.authorityKeyId) ?? ''
}

function isNew(
  { certificate }: Candidate,
  held: readonly HeldCertificate[],
  keyOf: (certificate: Certificate) => KeyObject | undefined,
): boolean {
  const known = held.find(({ row }) => row.id === certificateId(certificate.raw))
  return known === undefined || (known.key === undefined && keyOf(certificate) !== undefined)
}

function newCertificate({ role, certificate }: Candidate, key: KeyObject | undefined): NewCertificate {
  return { role, certificate, ciPkid: ciOf(role, certificate), key }
}
