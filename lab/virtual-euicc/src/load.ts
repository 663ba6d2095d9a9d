import { child, readOne, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import { BPP_COMMAND, BPP_ERROR, CommandError, Refusal, refusalFrom, STATUS } from './codes.ts'
import { isSignedBy, keyMaterial, signatureOf } from './ecc.ts'
import { eventBits, type Metadata } from './metadata.ts'
import { keep, notificationMetadata, notifyAll } from './notifications.ts'
import { fromHex, isSame } from './octets.ts'
import { headOf, structure } from './package-head.ts'
import { type BppCommand, type LoadedProfile, packageSteps } from './package-steps.ts'
import type { EuiccParts, Session } from './parts.ts'
import { type SecureChannel, secureChannel } from './secure-channel.ts'

/** A package that is being loaded. */
interface Loading {
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
function beginLoading(parts: EuiccParts, segment: Uint8Array): Loading {
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

/** AIDs of ISD-Ps; the last two octets count. SGP.02 table 19. */
const ISDP_AID = 'a0000005591010ffffffff890000'
/** EUICCResponse with status 0 (ok). TCA §8.11. */
const SIMA_OK = fromHex('3007a0053003800100')

/** Loads bound profile packages, segment by segment. */
export interface Loader {
  /** Whether a package is under way. */
  isLoading(): boolean
  /** Begins with BF36's head and BF23, or goes on; the result (BF37) when it ended, else nothing. SGP.22 §5.7.6. */
  load(segment: Uint8Array): Uint8Array
  /** Forgets a package that is under way: the phone was switched off, or began anew. */
  forget(): void
}

/** The loader of one eUICC. */
export function makeLoader(parts: EuiccParts): Loader {
  let loading: Loading | undefined
  const ended = (session: Session, result: InstallResult): Uint8Array => {
    loading = undefined
    parts.session = undefined
    return installationResult(parts, session, result)
  }
  const taken = (segment: Uint8Array): Uint8Array => {
    if (loading === undefined) {
      loading = beginLoading(parts, segment)
      return new Uint8Array()
    }
    const loaded = loading.take(segment)
    if (loaded === undefined) return new Uint8Array()
    const aid = installed(parts, loading.session, loaded)
    return ended(loading.session, { metadata: loaded.metadata, aid })
  }
  return {
    isLoading: () => loading !== undefined,
    forget: () => {
      loading = undefined
    },
    load: (segment) => {
      const session = loading?.session ?? parts.session
      try {
        return taken(segment)
      } catch (error) {
        const reason = reasonOf(error)
        if (session?.download === undefined || reason === undefined) throw error
        const command = loading?.command ?? BPP_COMMAND.initialiseSecureChannel
        return ended(session, { metadata: loading?.metadata, command, reason })
      }
    },
  }
}

function reasonOf(error: unknown): number | undefined {
  if (error instanceof Refusal) return error.code
  return error instanceof TlvError ? BPP_ERROR.incorrectInputValues : undefined
}

interface InstallResult {
  readonly metadata: Metadata | undefined
  readonly aid?: Uint8Array
  readonly command?: number
  readonly reason?: number
}

function installed(parts: EuiccParts, session: Session, loaded: LoadedProfile): Uint8Array {
  const count = Buffer.alloc(2)
  count.writeUInt16BE(parts.memory.nextIsdp++ << 8)
  const isdpAid = Buffer.concat([fromHex(ISDP_AID), count])
  parts.memory.profiles.push({
    isdpAid,
    metadata: Uint8Array.from(loaded.metadataText),
    package: Uint8Array.from(loaded.package),
    smdpAddress: session.serverAddress,
    isEnabled: false,
    nickname: undefined,
  })
  parts.unused = undefined
  return isdpAid
}

/** ProfileInstallationResult (BF37), signed and kept as a notification. SGP.22 §2.5.6, §4.4.1. */
function installationResult(parts: EuiccParts, session: Session, result: InstallResult): Uint8Array {
  const { sequence, metadata } = notificationMetadata(
    parts,
    'install',
    session.serverAddress,
    result.metadata?.iccidOctets,
  )
  const final =
    result.aid === undefined
      ? tlv(
          0xa1,
          tlv(0x80, Uint8Array.of(result.command ?? 0)),
          tlv(0x81, Uint8Array.of(result.reason ?? BPP_ERROR.unknownError)),
        )
      : tlv(0xa0, tlv(0x4f, result.aid), tlv(0x04, SIMA_OK))
  const data = tlv(
    0xbf27,
    tlv(0x80, session.transactionId),
    metadata,
    tlv(0x06, session.owner),
    tlv(0xa2, final),
  )
  const pending = tlv(0xbf37, data, tlv(0x5f37, signatureOf(session.chain.euiccKey, data)))
  const operation = eventBits('install')[1] ?? 0
  keep(parts, { sequence, metadata, operation, address: session.serverAddress, pending })
  if (result.aid !== undefined && result.metadata !== undefined) notifyAll(parts, result.metadata, 'install')
  return pending
}
