import { type KeyObject, verify } from 'node:crypto'
import { readOne, type Tlv, TlvError } from './tlv.ts'
import { checkAlgorithm, EXTENSION, partsOf, timeOf, X509Error } from './x509.ts'

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
