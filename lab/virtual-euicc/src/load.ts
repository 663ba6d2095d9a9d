import { TlvError, tlv } from '@steeple/sgp22'
import { BPP_COMMAND, BPP_ERROR, Refusal } from './codes.ts'
import { signatureOf } from './ecc.ts'
import { beginLoading, type Loading } from './install.ts'
import { eventBits, type Metadata } from './metadata.ts'
import { keep, notificationMetadata, notifyAll } from './notifications.ts'
import { fromHex } from './octets.ts'
import type { LoadedProfile } from './package-steps.ts'
import type { EuiccParts, Session } from './parts.ts'

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
