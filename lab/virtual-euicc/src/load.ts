import { child, publicKeyOf, readOne, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import { BPP_COMMAND, BPP_ERROR, type Code, CommandError, Refusal, refusalFrom, STATUS } from './codes.ts'
import { isSignedBy, keyMaterial, signatureOf } from './ecc.ts'
import { eventBits, type Metadata, readMetadata } from './metadata.ts'
import { keep, notificationMetadata, notifyAll } from './notifications.ts'
import { fromHex, isSame } from './octets.ts'
import { checkVersion, readProfilePackage } from './profile-package.ts'
import { type SecureChannel, secureChannel } from './secure-channel.ts'
import type { EuiccParts, Session } from './state.ts'

/** Command that a segment belongs to. */
type BppCommand = Code<typeof BPP_COMMAND>

/** A profile that has come whole. */
interface LoadedProfile {
  readonly metadataText: Uint8Array
  readonly metadata: Metadata
  readonly package: Uint8Array
}

const PACKAGE_OCTETS_MAX = 1024 * 1024

/** A package that is being loaded: the lists behind its head, in their order: A0, A1 with 88s, perhaps A2, A3 with 86s. SGP.22 §5.5. */
interface Loading {
  readonly parts: EuiccParts
  readonly session: Session
  channel: SecureChannel
  /** The command that is under way, for the result. */
  command: BppCommand
  stage: 'isdp' | 'metadata_head' | 'metadata' | 'keys_or_profile' | 'profile_head' | 'profile'
  /** Octets of the package, and of the list, that have not come. */
  rest: number
  left: number
  found: { readonly text: Uint8Array; readonly read: Metadata } | undefined
  texts: Uint8Array[]
}

/** Takes the next segment; the profile when it was the last. Throws `Refusal`, `TlvError`. */
function take(loading: Loading, segment: Uint8Array): LoadedProfile | undefined {
  loading.rest -= segment.length
  if (loading.rest < 0) throw structure('is longer than it says')
  step(loading, segment)
  if (loading.rest > 0) return undefined
  const { stage, found, left, texts } = loading
  if (stage !== 'profile' || found === undefined || left !== 0) throw structure('ends before its end')
  return loadedProfile(loading.parts, found, Buffer.concat(texts))
}

function step(state: Loading, segment: Uint8Array): void {
  switch (state.stage) {
    case 'isdp':
      if (headOf(segment).tag !== 0xa0) throw structure('has no ConfigureISDP')
      checkConfigure(state.session, sealed(state, segment))
      state.stage = 'metadata_head'
      return
    case 'metadata_head':
      state.command = BPP_COMMAND.storeMetadata
      listBegins(state, segment, 0xa1)
      state.stage = 'metadata'
      return
    case 'metadata':
      if (!itemCame(state, segment, 0x88, state.channel.verified)) return
      state.found = checkedMetadata(state.parts, Buffer.concat(state.texts))
      state.stage = 'keys_or_profile'
      return
    case 'keys_or_profile':
    case 'profile_head':
      if (state.stage === 'keys_or_profile' && headOf(segment).tag === 0xa2) {
        state.command = BPP_COMMAND.replaceSessionKeys
        state.channel = protectionChannel(sealed(state, segment))
        state.stage = 'profile_head'
        return
      }
      state.command = BPP_COMMAND.loadProfileElements
      listBegins(state, segment, 0xa3)
      state.stage = 'profile'
      return
    case 'profile':
      itemCame(state, segment, 0x86, state.channel.decrypted)
  }
}

function listBegins(state: Loading, segment: Uint8Array, tag: number): void {
  const head = headOf(segment)
  if (head.tag !== tag) throw structure('has its parts in another order')
  if (head.length > PACKAGE_OCTETS_MAX)
    throw new Refusal(BPP_ERROR.insufficientMemory, 'the package is too large')
  if (head.octets !== segment.length) throw structure('has more than the head of a list in one segment')
  state.left = head.length
  state.texts = []
}

/** Whether the list is whole with this segment. */
function itemCame(
  state: Loading,
  segment: Uint8Array,
  tag: number,
  open: (segment: Uint8Array) => Uint8Array,
): boolean {
  if (readOne(segment).tag !== tag) throw structure('has a segment of another kind')
  state.left -= segment.length
  if (state.left < 0) throw structure('has a list that is longer than it says')
  state.texts.push(open(segment))
  return state.left === 0
}

function sealed(state: Loading, segment: Uint8Array): Uint8Array {
  const items = readOne(segment).children()
  return Buffer.concat(items.map((one) => state.channel.decrypted(checkedTag(one, 0x87))))
}

function checkedTag(one: Tlv, tag: number): Uint8Array {
  if (one.tag !== tag) throw structure('has a segment of another kind')
  return one.raw
}

/** ConfigureISDP (BF24): empty, or with the owner's data. SGP.22 §5.5.2. */
function checkConfigure(session: Session, text: Uint8Array): void {
  const request = readOne(text)
  if (request.tag !== 0xbf24) throw new Refusal(BPP_ERROR.incorrectInputValues, 'is no ConfigureISDP')
  const proprietary = child(request, 0xb8)
  if (proprietary !== undefined && !isSame(child(proprietary, 0x06)?.value, session.owner))
    throw new Refusal(BPP_ERROR.incorrectInputValues, 'ConfigureISDP is of another SM-DP+')
}

function checkedMetadata(
  parts: EuiccParts,
  text: Uint8Array,
): { readonly text: Uint8Array; readonly read: Metadata } {
  const read = readMetadata(text)
  if (read.policyRules !== 0)
    throw new Refusal(BPP_ERROR.pprNotAllowed, 'policy rules are not allowed by this eUICC')
  const isHeld = parts.memory.profiles.some((one) => readMetadata(one.metadata).iccid === read.iccid)
  if (isHeld) throw new Refusal(BPP_ERROR.iccidAlreadyExists, 'a profile with this ICCID is installed')
  if (parts.memory.profiles.length >= parts.profilesMax)
    throw new Refusal(BPP_ERROR.insufficientMemory, 'no further profile fits')
  return { text, read }
}

/** ReplaceSessionKeys (BF26): the keys of a package that was protected beforehand. SGP.22 §5.5.4. */
function protectionChannel(text: Uint8Array): SecureChannel {
  const request = readOne(text)
  const chaining = child(request, 0x80)?.value
  const encryption = child(request, 0x81)?.value
  const mac = child(request, 0x82)?.value
  const isWhole = chaining?.length === 16 && encryption?.length === 16 && mac?.length === 16
  if (request.tag !== 0xbf26 || !isWhole)
    throw new Refusal(BPP_ERROR.incorrectInputValues, 'ReplaceSessionKeys is not whole')
  return secureChannel({ chaining, encryption, mac })
}

function loadedProfile(
  parts: EuiccParts,
  found: { readonly text: Uint8Array; readonly read: Metadata },
  text: Uint8Array,
): LoadedProfile {
  const content = readProfilePackage(text)
  checkVersion(text, parts.profileVersion)
  if (content.iccid !== found.read.iccid)
    throw new Refusal(BPP_ERROR.dataMismatch, 'the ICCID of the metadata is not the one of the profile')
  // A test profile is one with the test algorithm's public keys. SGP.22 §5.7.6.
  if (found.read.profileClass === 0 && content.algorithm !== 'test')
    throw new Refusal(BPP_ERROR.testProfileInvalidNaaKey, 'a test profile has keys of a real network')
  return { metadataText: found.text, metadata: found.read, package: text }
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
  return {
    parts,
    session,
    channel: openChannel(parts, session, download, segment.subarray(head.octets)),
    command: BPP_COMMAND.configureIsdp,
    stage: 'isdp',
    rest: head.length - (segment.length - head.octets),
    left: 0,
    found: undefined,
    texts: [],
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
  if (!isSignedBy(publicKeyOf(download.pb), signed, signature))
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
    const loaded = take(loading, segment)
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
        return ended(session, { metadata: loading?.found?.read, command, reason })
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

/** Tag and length of an object that need not have come whole. Throws `TlvError`. */
function headOf(text: Uint8Array): {
  readonly tag: number
  readonly length: number
  readonly octets: number
} {
  const tagOctets = ((text[0] ?? 0) & 0x1f) === 0x1f ? 2 : 1
  const first = text[tagOctets] ?? 0
  const more = first < 0x80 ? 0 : first & 0x7f
  const octets = tagOctets + 1 + more
  if (text.length < octets || more > 3) throw new TlvError(0, 'has no head')
  const tag = tagOctets === 2 ? (text[0] ?? 0) * 256 + (text[1] ?? 0) : (text[0] ?? 0)
  const length =
    more === 0
      ? first
      : Number.parseInt(Buffer.from(text.subarray(tagOctets + 1, octets)).toString('hex'), 16)
  return { tag, length, octets }
}

/** A package that is not made as SCP03t has it. */
function structure(what: string): Refusal {
  return new Refusal(BPP_ERROR.scp03tStructureError, `the package ${what}`)
}
