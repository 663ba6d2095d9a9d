import { child, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import { CertificateError, checkIssued, checkRole, ROLE, readCertificate } from './certificate.ts'
import type { Chain } from './chain.ts'
import { AUTHENTICATE_ERROR, CommandError, Refusal, refusalFrom, STATUS } from './codes.ts'
import { isSignedBy, signatureOf } from './ecc.ts'
import { euiccInfo2 } from './info.ts'
import { isSame, utf8From } from './octets.ts'
import type { EuiccParts } from './parts.ts'

/** Octets of a challenge. SGP.22 §5.7.7. */
const CHALLENGE_OCTETS = 16
const ADDRESS_OCTETS = 255

/** GetEUICCChallenge (BF2E). Ends a session that is under way. SGP.22 §5.7.7. */
export function getChallenge(parts: EuiccParts): Uint8Array {
  parts.session = undefined
  parts.challenge = parts.random(CHALLENGE_OCTETS)
  return tlv(0xbf2e, tlv(0x80, parts.challenge))
}

/** AuthenticateServer (BF38). SGP.22 §5.7.13. */
export function authenticateServer(parts: EuiccParts, request: Tlv): Uint8Array {
  const [signed, signature, ciPkid, certificate, context] = request.children()
  if (signed?.tag !== 0x30 || signature?.tag !== 0x5f37 || ciPkid?.tag !== 0x04)
    throw new CommandError(STATUS.wrongData, 'AuthenticateServer is not whole')
  if (certificate?.tag !== 0x30 || context?.tag !== 0xa0)
    throw new CommandError(STATUS.wrongData, 'AuthenticateServer is not whole')
  const fields = signedFields(signed)
  parts.session = undefined
  try {
    const challenge = parts.challenge
    parts.challenge = undefined
    const { auth, owner } = checkServer(parts, signed, signature.value, certificate.raw)
    if (challenge === undefined)
      throw new Refusal(AUTHENTICATE_ERROR.noSessionContext, 'no challenge was asked for')
    if (!isSame(challenge, fields.euiccChallenge))
      throw new Refusal(
        AUTHENTICATE_ERROR.euiccChallengeMismatch,
        'another challenge than this eUICC’s was signed',
      )
    const chain = chainFor(parts, ciPkid.value)
    const euiccSigned1 = tlv(
      0x30,
      tlv(0x80, fields.transactionId),
      tlv(0x83, fields.serverAddress),
      tlv(0x84, fields.serverChallenge),
      euiccInfo2(parts),
      context.raw,
    )
    const euiccSignature1 = tlv(0x5f37, signatureOf(chain.euiccKey, euiccSigned1))
    parts.session = {
      transactionId: fields.transactionId,
      serverAddress: utf8From(fields.serverAddress, ADDRESS_OCTETS) ?? '',
      chain,
      auth,
      owner,
      euiccSignature1,
    }
    return tlv(0xbf38, tlv(0xa0, euiccSigned1, euiccSignature1, chain.euiccDer, chain.eumDer))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const code = Uint8Array.of(error.code)
    return tlv(0xbf38, tlv(0xa1, tlv(0x80, fields.transactionId), tlv(0x02, code)))
  }
}

function signedFields(signed: Tlv): {
  readonly transactionId: Uint8Array
  readonly euiccChallenge: Uint8Array
  readonly serverAddress: Uint8Array
  readonly serverChallenge: Uint8Array
} {
  const transactionId = child(signed, 0x80)?.value
  const euiccChallenge = child(signed, 0x81)?.value
  const serverAddress = child(signed, 0x83)?.value
  const serverChallenge = child(signed, 0x84)?.value
  if (transactionId === undefined || transactionId.length === 0 || transactionId.length > 16)
    throw new CommandError(STATUS.wrongData, 'serverSigned1 has no transaction id of 1 to 16 octets')
  if (euiccChallenge === undefined || serverChallenge?.length !== CHALLENGE_OCTETS)
    throw new CommandError(STATUS.wrongData, 'serverSigned1 has no challenges of 16 octets')
  if (serverAddress === undefined || utf8From(serverAddress, ADDRESS_OCTETS) === undefined)
    throw new CommandError(STATUS.wrongData, 'serverSigned1 has no server address')
  return { transactionId, euiccChallenge, serverAddress, serverChallenge }
}

function checkServer(
  parts: EuiccParts,
  signed: Tlv,
  signature: Uint8Array,
  der: Uint8Array,
): { readonly auth: ReturnType<typeof readCertificate>; readonly owner: Uint8Array } {
  const auth = trusted(parts.chains, der)
  if (auth.registeredId === undefined)
    throw new Refusal(AUTHENTICATE_ERROR.invalidOid, 'CERT.DPauth has no registered id')
  if (!isSignedBy(auth.key, signed.raw, signature))
    throw new Refusal(AUTHENTICATE_ERROR.invalidSignature, 'serverSignature1 is not CERT.DPauth’s')
  return { auth, owner: auth.registeredId }
}

function trusted(chains: readonly Chain[], der: Uint8Array): ReturnType<typeof readCertificate> {
  try {
    const certificate = readCertificate(der)
    const issuer = chains.find((chain) => isSame(chain.ciPkid, certificate.authorityKeyId))
    if (issuer === undefined) throw new CertificateError('is of a CI that this eUICC does not know')
    checkIssued(certificate, issuer.ci)
    checkRole(certificate, ROLE.dpAuth)
    return certificate
  } catch (error) {
    if (!(error instanceof CertificateError) && !(error instanceof TlvError)) throw error
    throw refusalFrom(error, AUTHENTICATE_ERROR.invalidCertificate, `CERT.DPauth ${error.message}`)
  }
}

function chainFor(parts: EuiccParts, ciPkid: Uint8Array): Chain {
  // Empty: the server leaves the choice to the eUICC. SGP.22 v3 §5.7.13.
  const chain = parts.chains.find((one) => ciPkid.length === 0 || isSame(one.ciPkid, ciPkid))
  if (chain === undefined)
    throw new Refusal(
      AUTHENTICATE_ERROR.ciPkUnknown,
      'the server names a CI that this eUICC does not sign under',
    )
  return chain
}
