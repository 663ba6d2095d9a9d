import { child, readOne, type Tlv } from '@steeple/sgp22'
import { BPP_COMMAND, BPP_ERROR, type Code, Refusal } from './codes.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import { isSame } from './octets.ts'
import { headOf, structure } from './package-head.ts'
import type { EuiccParts, Session } from './parts.ts'
import { checkVersion, readProfilePackage } from './profile-package.ts'
import { type SecureChannel, secureChannel } from './secure-channel.ts'

/** Command that a segment belongs to. */
export type BppCommand = Code<typeof BPP_COMMAND>

/** A profile that has come whole. */
export interface LoadedProfile {
  readonly metadataText: Uint8Array
  readonly metadata: Metadata
  readonly package: Uint8Array
}

const PACKAGE_OCTETS_MAX = 1024 * 1024

/** What stands behind the head of a package. */
export interface PackageSteps {
  /** The command that is under way. */
  command(): BppCommand
  metadata(): Metadata | undefined
  /** Takes the next segment; the profile when it was the last. Throws `Refusal`, `TlvError`. */
  take(segment: Uint8Array, isLast: boolean): LoadedProfile | undefined
}

interface StepsState {
  readonly parts: EuiccParts
  readonly session: Session
  channel: SecureChannel
  command: BppCommand
  stage: 'isdp' | 'metadata_head' | 'metadata' | 'keys_or_profile' | 'profile_head' | 'profile'
  /** Octets of the list that have not come. */
  left: number
  found: { readonly text: Uint8Array; readonly read: Metadata } | undefined
  texts: Uint8Array[]
}

/** The lists of a package behind its head, in their order: A0, A1 with 88s, perhaps A2, A3 with 86s. SGP.22 §5.5. */
export function packageSteps(parts: EuiccParts, session: Session, channel: SecureChannel): PackageSteps {
  const state: StepsState = {
    parts,
    session,
    channel,
    command: BPP_COMMAND.configureIsdp,
    stage: 'isdp',
    left: 0,
    found: undefined,
    texts: [],
  }
  return {
    command: () => state.command,
    metadata: () => state.found?.read,
    take: (segment, isLast) => {
      step(state, segment)
      const { stage, found, left, texts } = state
      if (!isLast || stage !== 'profile' || found === undefined || left !== 0) return undefined
      return loadedProfile(state.parts, found, Buffer.concat(texts))
    },
  }
}

function step(state: StepsState, segment: Uint8Array): void {
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

function listBegins(state: StepsState, segment: Uint8Array, tag: number): void {
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
  state: StepsState,
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

function sealed(state: StepsState, segment: Uint8Array): Uint8Array {
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
