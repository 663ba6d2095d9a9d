import { randomBytes } from 'node:crypto'
import { child, readOne, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import { authenticateServer, getChallenge } from './authenticate.ts'
import { ChainError, type EuiccChain, readChain } from './chain.ts'
import { CommandError, commandErrorFrom, STATUS } from './codes.ts'
import { euiccInfo1, euiccInfo2, UICC_CAPABILITY } from './info.ts'
import { makeLoader } from './load.ts'
import { listNotifications, removeNotification, retrieveNotifications } from './notifications.ts'
import { fromHex } from './octets.ts'
import type { EuiccParts } from './parts.ts'
import { cancelSession, prepareDownload } from './prepare.ts'
import {
  deleteProfile,
  disableProfile,
  enableProfile,
  type InstalledProfile,
  installedProfiles,
  profilesInfo,
  setNickname,
} from './profiles.ts'
import { emptyMemory, memoryFrom, type SavedMemory, savedMemory } from './state.ts'

/** What an eUICC is made with. */
export interface EuiccOptions {
  /** 32 digits. */
  readonly eid: string
  /** One chain for each CI and curve, the most liked first. */
  readonly chains: readonly EuiccChain[]
  /** What `save` gave; an empty eUICC without. */
  readonly saved?: SavedMemory
  readonly defaultSmdp?: string
  /** How many profiles fit. 16 unless said. */
  readonly profilesMax?: number
  /** UICCCapability, its value with the count of unused bits; that of a usual one when absent. */
  readonly capability?: Uint8Array
  /** Version of profile packages that it takes; 2.3.1 unless said. */
  readonly profileVersion?: readonly [number, number, number]
  /** Octets for challenges; of the system unless said. */
  readonly random?: (octets: number) => Uint8Array
}

/** An eUICC: takes commands as it stands behind a card reader, after their APDUs were put together. */
export interface Euicc {
  readonly eid: string
  /**
   * One command of ES10 (its data as one TLV; a part of a bound profile package as an LPA cuts it) → its answer,
   * empty where there is none. Throws `CommandError` for what a card answers with a status word. SGP.22 §5.7.
   */
  execute(command: Uint8Array): Uint8Array
  /** The profiles with their content, keys too: what a real eUICC never tells. */
  profiles(): readonly InstalledProfile[]
  /** Ends what is under way, as taking the power away does. */
  reset(): void
  /** What it keeps without power; holds keys. */
  save(): SavedMemory
}

const EID = /^[0-9]{32}$/
const PROFILES_MAX = 16

/**
 * An eUICC in software. It verifies what one in hardware verifies and refuses with the same codes.
 * Throws `ChainError` for certificates or a key that do not fit together. Source: SGP.22 v2.5 §5.7.
 */
export function createEuicc(options: EuiccOptions): Euicc {
  const { eid } = options
  if (!EID.test(eid)) throw new ChainError('an EID has 32 digits')
  if (options.chains.length === 0) throw new ChainError('an eUICC needs a chain of certificates')
  const parts: EuiccParts = {
    eid,
    eidOctets: fromHex(eid),
    chains: options.chains.map((chain) => readChain(chain, eid)),
    memory: options.saved === undefined ? emptyMemory(options.defaultSmdp) : memoryFrom(options.saved),
    random: options.random ?? ((octets) => Uint8Array.from(randomBytes(octets))),
    profilesMax: options.profilesMax ?? PROFILES_MAX,
    capability: options.capability ?? UICC_CAPABILITY,
    profileVersion: options.profileVersion ?? [2, 3, 1],
  }
  const loader = makeLoader(parts)
  return {
    eid,
    profiles: () => installedProfiles(parts),
    save: () => savedMemory(parts.memory),
    reset: () => {
      loader.forget()
      parts.session = undefined
      parts.challenge = undefined
    },
    execute: (command) => {
      if (isPackageHead(command)) loader.forget()
      if (loader.isLoading() && isPackagePart(command)) return answered(() => loader.load(command))
      if (isPackageHead(command)) return answered(() => loader.load(command))
      const request = wholeCommand(command)
      const answer = COMMANDS[request.tag]
      if (answer === undefined)
        throw new CommandError(STATUS.referencedDataNotFound, `no command ${request.tag.toString(16)}`)
      if (ENDS_LOADING.includes(request.tag)) loader.forget()
      return answered(() => answer(parts, request))
    },
  }
}

type Answer = (parts: EuiccParts, request: Tlv) => Uint8Array

/** Commands by their tag. SGP.22 §5.7. */
const COMMANDS: Readonly<Record<number, Answer>> = {
  48928: euiccInfo1,
  48929: prepareDownload,
  48930: euiccInfo2,
  48936: listNotifications,
  48937: setNickname,
  48939: retrieveNotifications,
  48941: profilesInfo,
  48942: getChallenge,
  48944: removeNotification,
  48945: enableProfile,
  48946: disableProfile,
  48947: deleteProfile,
  48952: authenticateServer,
  48956: configuredAddresses,
  48958: euiccData,
  48959: setDefaultSmdp,
  48961: cancelSession,
  48963: rulesAuthorisation,
}
/** Commands that end a package that is being loaded. */
const ENDS_LOADING: readonly number[] = [0xbf2e, 0xbf38, 0xbf21, 0xbf41]

function isPackageHead(command: Uint8Array): boolean {
  return command[0] === 0xbf && command[1] === 0x36
}

function isPackagePart(command: Uint8Array): boolean {
  return command[0] !== 0xbf
}

function wholeCommand(command: Uint8Array): Tlv {
  return answered(() => readOne(command))
}

/** What cannot be read is answered with a status word. */
function answered<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof TlvError) throw commandErrorFrom(error, STATUS.wrongData, error.message)
    throw error
  }
}

/** GetEuiccConfiguredAddresses. SGP.22 §5.7.3. */
function configuredAddresses(parts: EuiccParts): Uint8Array {
  const { defaultSmdp } = parts.memory
  return tlv(
    0xbf3c,
    ...(defaultSmdp === undefined ? [] : [tlv(0x80, Buffer.from(defaultSmdp))]),
    tlv(0x81, Buffer.from('testrootsmds.example.com')),
  )
}

/** GetEUICCData: the EID. SGP.22 §5.7.20. */
function euiccData(parts: EuiccParts): Uint8Array {
  return tlv(0xbf3e, tlv(0x5a, parts.eidOctets))
}

/** SetDefaultDpAddress. SGP.22 §5.7.4. */
function setDefaultSmdp(parts: EuiccParts, request: Tlv): Uint8Array {
  const address = Buffer.from(child(request, 0x80)?.value ?? []).toString('utf8')
  parts.memory.defaultSmdp = address === '' ? undefined : address
  return tlv(0xbf3f, tlv(0x80, Uint8Array.of(0)))
}

/** GetRAT: no profile may have policy rules. SGP.22 §5.7.22. */
function rulesAuthorisation(): Uint8Array {
  return tlv(0xbf43, tlv(0xa0))
}
