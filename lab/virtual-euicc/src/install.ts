import { child, readOne, type Tlv, tlv } from '@steeple/sgp22'
import { BPP_ERROR, CommandError, Refusal, refusalFrom, STATUS } from './codes.ts'
import { isSignedBy, keyMaterial } from './ecc.ts'
import type { Metadata } from './metadata.ts'
import { isSame } from './octets.ts'
import { headOf, structure } from './package-head.ts'
import { type BppCommand, type LoadedProfile, packageSteps } from './package-steps.ts'
import type { EuiccParts, Session } from './parts.ts'
import { type SecureChannel, secureChannel } from './secure-channel.ts'

/** A package that is being loaded. */
export interface Loading {
  readonly session: Session
  /** The command that is under way, for the result. */
  readonly command: BppCommand
  readonly metadata: Metadata | undefined
  /** Takes the next segment; the profile when it was the last. Throws `Refusal`, `TlvError`. */
  take(segment: Uint8Array): LoadedProfile | undefined
}

/** InstallBoundProfilePackage, the remote operation. SGP.22 §5.5.1. */
const INSTALL = 0x01
/** AES and 128 bits: the only key type. SGP.22 §5.5.1. */
const KEY_TYPE = 0x88
const KEY_OCTETS = 0x10
const HOST_ID_OCTETS = 16

/**
 * Begins with the head of the package and InitialiseSecureChannel (BF36, BF23). Throws `Refusal`, `TlvError`;
 * `CommandError` when no download was prepared. SGP.22 §5.7.6, §5.5.
 */
export function beginLoading(parts: EuiccParts, segment: Uint8Array): Loading {
  const session = parts.session
  const download = session?.download
  if (session === undefined || download === undefined)
    throw new CommandError(STATUS.conditionsNotSatisfied, 'no download is prepared')
  const head = headOf(segment)
  let left = head.length - (segment.length - head.octets)
  const channel = openChannel(parts, session, download, segment.subarray(head.octets))
  const steps = packageSteps(parts, session, channel)
  return {
    session,
    get command() {
      return steps.command()
    },
    get metadata() {
      return steps.metadata()
    },
    take: (next) => {
      left -= next.length
      if (left < 0) throw structure('is longer than it says')
      const loaded = steps.take(next, left === 0)
      if (left === 0 && loaded === undefined) throw structure('ends before its end')
      return loaded
    },
  }
}

function openChannel(
  parts: EuiccParts,
  session: Session,
  download: NonNullable<Session['download']>,
  text: Uint8Array,
): SecureChannel {
  const request = readOne(text)
  if (request.tag !== 0xbf23) throw structure('does not begin with InitialiseSecureChannel')
  const operation = child(request, 0x82)
  const transactionId = child(request, 0x80)
  const reference = child(request, 0xa6)
  const point = child(request, 0x5f49)
  const signature = child(request, 0x5f37)?.value
  if (
    operation === undefined ||
    transactionId === undefined ||
    reference === undefined ||
    point === undefined
  )
    throw new Refusal(BPP_ERROR.incorrectInputValues, 'InitialiseSecureChannel is not whole')
  const signed = Buffer.concat([
    operation.raw,
    transactionId.raw,
    reference.raw,
    point.raw,
    tlv(0x5f49, download.key.point),
  ])
  if (!isSignedBy(download.pb.key, signed, signature))
    throw new Refusal(BPP_ERROR.invalidSignature, 'InitialiseSecureChannel is not signed by CERT.DPpb')
  if (!isSame(transactionId.value, session.transactionId))
    throw new Refusal(BPP_ERROR.invalidTransactionId, 'InitialiseSecureChannel is of another session')
  if (operation.value.length !== 1 || operation.value[0] !== INSTALL)
    throw new Refusal(BPP_ERROR.unsupportedRemoteOperationType, 'only installing is known')
  const sharedInfo = checkReference(reference, parts.eidOctets)
  const material = keyMaterial(agreed(download.key, point.value), sharedInfo, 48)
  return secureChannel({
    chaining: material.subarray(0, 16),
    encryption: material.subarray(16, 32),
    mac: material.subarray(32, 48),
  })
}

/** The control reference template, and what it makes the shared info. SGP.22 §2.6.4.2, annex G. */
function checkReference(reference: Tlv, eid: Uint8Array): Uint8Array {
  const type = child(reference, 0x80)?.value
  const length = child(reference, 0x81)?.value
  const hostId = child(reference, 0x84)?.value
  const isKnown = type?.[0] === KEY_TYPE && length?.[0] === KEY_OCTETS
  if (!isKnown || hostId === undefined || hostId.length === 0 || hostId.length > HOST_ID_OCTETS)
    throw new Refusal(
      BPP_ERROR.unsupportedCrtValues,
      'only AES-128 with a host id of 1 to 16 octets is known',
    )
  return Buffer.concat([Uint8Array.of(KEY_TYPE, KEY_OCTETS, hostId.length), hostId, Uint8Array.of(16), eid])
}

function agreed(key: { agree(point: Uint8Array): Uint8Array }, point: Uint8Array): Uint8Array {
  try {
    return key.agree(point)
  } catch (cause) {
    throw refusalFrom(cause, BPP_ERROR.incorrectInputValues, 'the one-time key is no point of the curve')
  }
}
