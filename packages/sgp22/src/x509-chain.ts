import { createHash, type KeyObject, verify } from 'node:crypto'
import { readOne, type Tlv, TlvError } from './tlv.ts'
import {
  type Certificate,
  checkAlgorithm,
  type DistinguishedName,
  EXTENSION,
  isSameName,
  isSameText,
  isSignedBy,
  partsOf,
  publicKeyOf,
  readCertificate,
  timeOf,
  X509Error,
} from './x509.ts'

/** A list of certificates that their issuer has taken back. RFC 5280 §5, SGP.22 §4.6. */
export interface RevocationList {
  /** What its signature is over. */
  readonly tbs: Uint8Array
  /** DER `ECDSA-Sig-Value`. */
  readonly signature: Uint8Array
  /** Subject key identifier of its issuer, hexadecimal. */
  readonly authorityKeyId: string
  /** Ms since the epoch; the second undefined when it says none. */
  readonly thisUpdateMs: number
  readonly nextUpdateMs: number | undefined
  /** Serial numbers as `Certificate.serial` has them. */
  readonly serials: readonly string[]
}

const CRL_NUMBER = '2.5.29.20'
const REASON = '2.5.29.21'
const ISSUING_POINT = '2.5.29.28'
/** What a list, and an entry of it, may say without changing what it means to be in it. */
const LIST_EXTENSIONS: readonly string[] = [CRL_NUMBER, EXTENSION.authorityKeyId, ISSUING_POINT]
const ENTRY_EXTENSIONS: readonly string[] = [REASON, '2.5.29.24']
/** `removeFromCRL`. RFC 5280 §5.3.1. */
const NO_MORE = 8

/**
 * Reads a revocation list (DER). One whose entries do not all mean certificates of its own issuer (indirect and delta lists)
 * is refused. Throws `X509Error`, and nothing else whatever the octets are.
 */
export function readRevocationList(der: Uint8Array): RevocationList {
  try {
    return read(der)
  } catch (cause) {
    if (cause instanceof TlvError) throw new X509Error(`is no DER: ${cause.message}`, { cause })
    throw cause
  }
}

/** Whether DER that begins as a certificate does is a revocation list: its version is not in an explicit tag. */
export function isRevocationList(der: Uint8Array): boolean {
  try {
    const first = readOne(der).children()[0]?.children()[0]
    return first !== undefined && first.tag !== 0xa0
  } catch (error) {
    if (error instanceof TlvError) return false
    throw error
  }
}

/** Whether the key of its issuer made the signature of a list. */
export function isListSignedBy(list: RevocationList, issuer: KeyObject): boolean {
  try {
    return verify('sha256', list.tbs, issuer, list.signature)
  } catch {
    // A signature that is no DER at all: no signature.
    return false
  }
}

function read(der: Uint8Array): RevocationList {
  const whole = readOne(der)
  const [tbs, algorithm, signature, rest] = whole.children()
  if (
    whole.tag !== 0x30 ||
    tbs?.tag !== 0x30 ||
    algorithm === undefined ||
    signature?.tag !== 0x03 ||
    rest !== undefined
  )
    throw new X509Error('is no revocation list')
  if (signature.value[0] !== 0) throw new X509Error('has a signature that cannot be read')
  const fields = [...tbs.children()]
  const version = fields.shift()
  if (version?.tag !== 0x02 || version.value[0] !== 1)
    throw new X509Error('is a revocation list of another version than 2')
  const [inner, issuer, thisUpdate, ...more] = fields
  if (inner === undefined || issuer?.tag !== 0x30 || thisUpdate === undefined)
    throw new X509Error('lacks fields')
  checkAlgorithm(inner, algorithm)
  const isTime = more[0]?.tag === 0x17 || more[0]?.tag === 0x18
  const nextUpdate = isTime ? more.shift() : undefined
  const entries = more[0]?.tag === 0x30 ? more.shift() : undefined
  const authorityKeyId = listExtensions(more.find(({ tag }) => tag === 0xa0)?.children()[0])
  if (authorityKeyId === undefined) throw new X509Error('does not say which key has signed it')
  return {
    tbs: tbs.raw,
    signature: signature.value.subarray(1),
    authorityKeyId,
    thisUpdateMs: timeOf(thisUpdate),
    nextUpdateMs: nextUpdate && timeOf(nextUpdate),
    serials: (entries?.children() ?? []).flatMap(serialOf),
  }
}

/** Gives the key identifier. Throws `X509Error` for what would change whose certificates are meant. */
function listExtensions(list: Tlv | undefined): string | undefined {
  let authorityKeyId: string | undefined
  for (const { oid, isCritical, value } of extensionsOf(list)) {
    if (isCritical && !LIST_EXTENSIONS.includes(oid))
      throw new X509Error(`has critical extension ${oid}, which is not known here`)
    if (oid === EXTENSION.authorityKeyId) {
      const id = value.children().find(({ tag }) => tag === 0x80)
      authorityKeyId = id && Buffer.from(id.value).toString('hex')
    }
    // `indirectCRL [4]`: entries may mean certificates of others.
    if (oid === ISSUING_POINT && value.children().some(({ tag, value: of }) => tag === 0x84 && of[0] !== 0))
      throw new X509Error('is an indirect revocation list, which are not read here')
  }
  return authorityKeyId
}

function serialOf(entry: Tlv): readonly string[] {
  const [serial, date, list] = entry.children()
  if (serial?.tag !== 0x02 || date === undefined) throw new X509Error('has an entry that cannot be read')
  timeOf(date)
  for (const { oid, isCritical, value } of extensionsOf(list)) {
    if (isCritical && !ENTRY_EXTENSIONS.includes(oid))
      throw new X509Error(`has an entry with critical extension ${oid}, which is not known here`)
    if (oid === REASON && value.value[0] === NO_MORE) return []
  }
  return [Buffer.from(serial.value).toString('hex')]
}

function extensionsOf(
  list: Tlv | undefined,
): readonly { readonly oid: string; readonly isCritical: boolean; readonly value: Tlv }[] {
  return (list?.children() ?? []).map((extension) => {
    const { value, ...named } = partsOf(extension)
    return { ...named, value: readOne(value) }
  })
}

/** What an eUICC shows, and the CI that was chosen for the session: certificates in DER. */
export interface EuiccChain {
  readonly euicc: Uint8Array
  readonly eum: Uint8Array
  /** The trust anchor: believed as it is. */
  readonly ci: Uint8Array
  /** Ms since the epoch. */
  readonly nowMs: number
  /** Whether its issuer, or somebody here, has taken back a certificate that is good by itself. */
  isRevoked?(certificate: Certificate): boolean
}

/** An eUICC whose certificates are good. */
export interface EuiccIdentity {
  /** 32 digits. */
  readonly eid: string
  readonly publicKey: KeyObject
  /** SubjectPublicKeyInfo (DER) of CERT.EUICC. */
  readonly spki: Uint8Array
  readonly euicc: Certificate
  readonly eum: Certificate
}

/** Why not: subject and reason code of SGP.22 §5.2.6, and words that name no EID. */
export interface ChainProblem {
  readonly code: '8.11.1/3.9' | '8.1.2/6.1' | '8.1.2/6.3' | '8.1.3/6.1' | '8.1.3/6.3'
  readonly message: string
}

/** Certificates whose signature has been verified, with their keys: the newest few hundred. */
export interface VerifiedCertificates {
  find(id: string): VerifiedCertificate | undefined
  keep(id: string, verified: VerifiedCertificate): void
}
interface VerifiedCertificate {
  readonly certificate: Certificate
  readonly key: KeyObject
}

/** Remembers signatures that were verified. It knows nothing of time: validity is looked at again at each use. */
export function verifiedCertificates(max = 256): VerifiedCertificates {
  const kept = new Map<string, VerifiedCertificate>()
  return {
    find: (id) => {
      const found = kept.get(id)
      // Behind all others: the few CIs and EUMs outlast the many eUICCs.
      if (found !== undefined && kept.delete(id)) kept.set(id, found)
      return found
    },
    keep: (id, verified) => {
      kept.set(id, verified)
      for (const oldest of kept.keys()) {
        if (kept.size <= max) break
        kept.delete(oldest)
      }
    },
  }
}

/**
 * Checks CERT.EUICC and CERT.EUM up to the CI, in the order of SGP.22 §5.6.3: the CI, then the EUM (signature and form, then
 * its validity), then the eUICC, with its EID inside of what its EUM may give.
 *
 * Gives the eUICC, or the first problem (`'code' in result`); never throws because of what `euicc` or `eum` are. Throws
 * `X509Error` when the CI, which is ours, cannot be read. With `verified` a certificate that was good before costs no
 * signature check. A certificate that is revoked is as one that is not good.
 */
export function checkEuiccChain(
  chain: EuiccChain,
  verified?: VerifiedCertificates,
): EuiccIdentity | ChainProblem {
  const anchor = anchorOf(chain.ci, verified)
  const eum = checked('8.1.2', chain.eum, anchor, chain, checkEum, verified)
  if ('code' in eum) return eum
  const euicc = checked('8.1.3', chain.euicc, eum, chain, checkEuicc, verified)
  if ('code' in euicc) return euicc
  const { certificate, key } = euicc
  const eid = certificate.subject.serialNumber ?? ''
  return { eid, publicKey: key, spki: certificate.spki, euicc: certificate, eum: eum.certificate }
}

/** The CI, read once. It is believed as it is, so that nothing of it is verified. */
function anchorOf(ci: Uint8Array, verified: VerifiedCertificates | undefined): VerifiedCertificate {
  const id = `anchor ${createHash('sha256').update(ci).digest('base64')}`
  const before = verified?.find(id)
  if (before !== undefined) return before
  const certificate = readCertificate(ci)
  const anchor = { certificate, key: publicKeyOf(certificate) }
  verified?.keep(id, anchor)
  return anchor
}

function checked(
  subject: '8.1.2' | '8.1.3',
  der: Uint8Array,
  issuer: VerifiedCertificate,
  { nowMs, isRevoked }: Pick<EuiccChain, 'nowMs' | 'isRevoked'>,
  check: (certificate: Certificate, issuer: Certificate) => void,
  verified: VerifiedCertificates | undefined,
): VerifiedCertificate | ChainProblem {
  const who = subject === '8.1.2' ? 'CERT.EUM' : 'CERT.EUICC'
  try {
    const id = createHash('sha256').update(issuer.certificate.raw).update(der).digest('base64')
    const before = verified?.find(id)
    const certificate = before?.certificate ?? readCertificate(der)
    if (subject === '8.1.2' && certificate.authorityKeyId !== issuer.certificate.subjectKeyId)
      return { code: '8.11.1/3.9', message: `${who} belongs to another CI than the one of this session` }
    const good = before ?? verifiedBy(certificate, issuer, check)
    if (before === undefined) verified?.keep(id, good)
    if (isRevoked?.(certificate) === true) throw new X509Error('has been revoked')
    if (nowMs > certificate.notAfterMs || nowMs < certificate.notBeforeMs)
      return { code: `${subject}/6.3`, message: `${who} is not valid now` }
    return good
  } catch (error) {
    if (!(error instanceof X509Error)) throw error
    return { code: `${subject}/6.1`, message: `${who} ${error.message}` }
  }
}

function verifiedBy(
  certificate: Certificate,
  issuer: VerifiedCertificate,
  check: (certificate: Certificate, issuer: Certificate) => void,
): VerifiedCertificate {
  if (certificate.curve !== issuer.certificate.curve) throw new X509Error('has another curve than its issuer')
  if (
    issuer.certificate.subjectKeyId === undefined ||
    certificate.authorityKeyId !== issuer.certificate.subjectKeyId
  )
    throw new X509Error('names another key than the one of its issuer')
  check(certificate, issuer.certificate)
  if (!isSignedBy(certificate, issuer.key)) throw new X509Error('is not signed by its issuer')
  return { certificate, key: publicKeyOf(certificate) }
}

/**
 * SGP.22 §4.5.2.1.0.2. The name of its issuer is not compared: a CI is known by its key, and the test CI (SGP.26) has
 * borne two names.
 */
function checkEum(eum: Certificate): void {
  if (eum.role !== 'eum') throw new X509Error('is not the certificate of an EUM by its policies')
  if (!eum.keyUsage.includes('keyCertSign')) throw new X509Error('may not sign certificates')
  if (!eum.isCa) throw new X509Error('is no authority')
  // The new variants allow one more authority below; variant O none.
  const longest = eum.variant === 'v3' ? 1 : 0
  if (eum.pathLength === undefined || eum.pathLength > longest)
    throw new X509Error(`has a path length other than ${longest}`)
  if (eum.subject.organization === undefined) throw new X509Error('names no organisation')
  if (eum.subjectKeyId === undefined) throw new X509Error('has no subject key identifier')
  const permitted = eum.permittedNames ?? []
  if (!permitted.some((name) => isSameText(name.organization, eum.subject.organization)))
    throw new X509Error('has name constraints for another organisation than its own, or none')
  if (beginningsOf(eum, permitted).length === 0) throw new X509Error('permits no EID')
}

/** SGP.22 §4.5.2.1.0.3. */
function checkEuicc(euicc: Certificate, eum: Certificate): void {
  if (euicc.role !== 'euicc') throw new X509Error('is not the certificate of an eUICC by its policies')
  if (!euicc.keyUsage.includes('digitalSignature')) throw new X509Error('may not sign')
  if (euicc.keyUsage.includes('keyCertSign') || euicc.isCa) throw new X509Error('is an authority')
  if (!isSameName(euicc.issuer, eum.subject)) throw new X509Error('names another issuer than its EUM')
  const { organization, serialNumber } = euicc.subject
  if (serialNumber === undefined || !/^[0-9]{32}$/.test(serialNumber))
    throw new X509Error('has a serial number that is no EID of 32 digits')
  if (!isSameText(organization, eum.subject.organization))
    throw new X509Error('has another organisation than its EUM')
  const permitted = (eum.permittedNames ?? []).filter((name) => isSameText(name.organization, organization))
  if (!beginningsOf(eum, permitted).some((digits) => serialNumber.startsWith(digits)))
    throw new X509Error('has an EID that its EUM may not give')
}

/** How EIDs of this EUM begin: serial numbers of the permitted names in variant O, EINs in the new ones. */
function beginningsOf(eum: Certificate, permitted: readonly DistinguishedName[]): readonly string[] {
  const numbers =
    eum.variant === 'v3'
      ? (eum.permittedEins ?? [])
      : permitted.flatMap(({ serialNumber }) => serialNumber ?? [])
  return numbers.filter((digits) => /^[0-9]{1,32}$/.test(digits))
}
