import { child, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import {
  type Certificate,
  CertificateError,
  checkIssued,
  checkRole,
  ROLE,
  readCertificate,
} from './certificate.ts'
import { CANCEL_ERROR, CommandError, DOWNLOAD_ERROR, Refusal, refusalFrom, STATUS } from './codes.ts'
import { isSignedBy, type OneTimeKey, oneTimeKey, signatureOf } from './ecc.ts'
import { isSame } from './octets.ts'
import type { EuiccParts, Session } from './parts.ts'

const HASH_OCTETS = 32

/** PrepareDownload (BF21). SGP.22 §5.7.5. */
export function prepareDownload(parts: EuiccParts, request: Tlv): Uint8Array {
  const [signed, signature, ...rest] = request.children()
  const hashCc = rest[0]?.tag === 0x04 ? rest[0] : undefined
  const certificate = rest[hashCc === undefined ? 0 : 1]
  if (signed?.tag !== 0x30 || signature?.tag !== 0x5f37 || certificate?.tag !== 0x30)
    throw new CommandError(STATUS.wrongData, 'PrepareDownload is not whole')
  const transactionId = child(signed, 0x80)?.value
  const ccRequired = child(signed, 0x01)?.value
  if (transactionId === undefined || ccRequired?.length !== 1)
    throw new CommandError(STATUS.wrongData, 'smdpSigned2 is not whole')
  try {
    const { session, pb } = checkPrepared(parts, { signed, signature, transactionId, der: certificate.raw })
    if (ccRequired[0] !== 0 && hashCc?.value.length !== HASH_OCTETS)
      throw new Refusal(DOWNLOAD_ERROR.undefinedError, 'a confirmation code is required and none came')
    const key = keyFor(parts, session, pb, child(signed, 0x5f49)?.value)
    const euiccSigned2 = tlv(
      0x30,
      tlv(0x80, transactionId),
      tlv(0x5f49, key.point),
      ...(hashCc === undefined ? [] : [hashCc.raw]),
    )
    const text = Buffer.concat([euiccSigned2, signature.raw])
    session.download = { pb, key }
    parts.unused = { owner: session.owner, key }
    return tlv(0xbf21, tlv(0xa0, euiccSigned2, tlv(0x5f37, signatureOf(session.chain.euiccKey, text))))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    parts.session = undefined
    return tlv(0xbf21, tlv(0xa1, tlv(0x80, transactionId), tlv(0x02, Uint8Array.of(error.code))))
  }
}

/** CancelSession (BF41). Ends the session. SGP.22 §5.7.14. */
export function cancelSession(parts: EuiccParts, request: Tlv): Uint8Array {
  const transactionId = child(request, 0x80)?.value
  const reason = child(request, 0x81)
  if (transactionId === undefined || reason?.value.length !== 1)
    throw new CommandError(STATUS.wrongData, 'CancelSession is not whole')
  const session = parts.session
  if (session === undefined || !isSame(session.transactionId, transactionId))
    return tlv(0xbf41, tlv(0x81, Uint8Array.of(CANCEL_ERROR.invalidTransactionId)))
  parts.session = undefined
  const signed = tlv(0x30, tlv(0x80, transactionId), tlv(0x81, session.owner), tlv(0x82, reason.value))
  return tlv(0xbf41, tlv(0xa0, signed, tlv(0x5f37, signatureOf(session.chain.euiccKey, signed))))
}

interface Prepared {
  readonly signed: Tlv
  readonly signature: Tlv
  readonly transactionId: Uint8Array
  readonly der: Uint8Array
}

function checkPrepared(
  parts: EuiccParts,
  prepared: Prepared,
): { readonly session: Session; readonly pb: Certificate } {
  const session = parts.session
  if (session === undefined) throw new Refusal(DOWNLOAD_ERROR.noSessionContext, 'no server is authenticated')
  const pb = binding(session, prepared.der)
  const text = Buffer.concat([prepared.signed.raw, session.euiccSignature1])
  if (!isSignedBy(pb.key, text, prepared.signature.value))
    throw new Refusal(DOWNLOAD_ERROR.invalidSignature, 'smdpSignature2 is not CERT.DPpb’s')
  if (!isSame(session.transactionId, prepared.transactionId))
    throw new Refusal(DOWNLOAD_ERROR.invalidTransactionId, 'smdpSigned2 is of another session')
  return { session, pb }
}

/** CERT.DPpb: of the CI and of the owner of CERT.DPauth. */
function binding(session: Session, der: Uint8Array): Certificate {
  try {
    const pb = readCertificate(der)
    checkIssued(pb, session.chain.ci)
    checkRole(pb, ROLE.dpPb)
    if (!isSame(pb.registeredId, session.owner))
      throw new CertificateError('has another owner than CERT.DPauth')
    if (!isSame(pb.authorityKeyId, session.auth.authorityKeyId))
      throw new CertificateError('is of another CI than CERT.DPauth')
    return pb
  } catch (error) {
    if (!(error instanceof CertificateError) && !(error instanceof TlvError)) throw error
    throw refusalFrom(error, DOWNLOAD_ERROR.invalidCertificate, `CERT.DPpb ${error.message}`)
  }
}

/** A fresh key, or the one that the server offers to use again, when it is held and was for that owner. */
function keyFor(
  parts: EuiccParts,
  session: Session,
  pb: Certificate,
  offered: Uint8Array | undefined,
): OneTimeKey {
  const held = parts.unused
  const isHeld = isSame(held?.key.point, offered) && isSame(held?.owner, session.owner)
  if (held !== undefined && isHeld && held.key.curve === pb.curve) return held.key
  return oneTimeKey(pb.curve)
}
