import { randomBytes } from 'node:crypto'
import {
  type Certificate,
  child,
  publicKeyOf,
  readCertificate,
  readOne,
  type Tlv,
  TlvError,
  tlv,
  X509Error,
} from '@steeple/sgp22'
import { type Chain, ChainError, checkIssued, checkRole, type EuiccChain, readChain } from './certificate.ts'
import {
  AUTHENTICATE_ERROR,
  CANCEL_ERROR,
  CommandError,
  commandErrorFrom,
  DOWNLOAD_ERROR,
  Refusal,
  refusalFrom,
  STATUS,
} from './codes.ts'
import { isSignedBy, type OneTimeKey, oneTimeKey, signatureOf } from './ecc.ts'
import { makeLoader } from './load.ts'
import { listNotifications, removeNotification, retrieveNotifications } from './notifications.ts'
import { fromHex, isSame, utf8From } from './octets.ts'
import {
  deleteProfile,
  disableProfile,
  enableProfile,
  type InstalledProfile,
  installedProfiles,
  profilesInfo,
  setNickname,
} from './profiles.ts'
import {
  type EuiccParts,
  emptyMemory,
  memoryFrom,
  type SavedMemory,
  type Session,
  savedMemory,
} from './state.ts'

/** SGP.22 release that this eUICC speaks: 2.4.0. */
const SVN = Uint8Array.of(2, 4, 0)

/** EUICCInfo1 (BF20). SGP.22 §5.7.8. */
function euiccInfo1(parts: EuiccParts): Uint8Array {
  return tlv(0xbf20, tlv(0x82, SVN), ...ciLists(parts))
}

/** USIM, ISIM, CSIM, every algorithm, several applications; no GET IDENTITY, and no ECIES for SUCI. SGP.22 annex H, UICCCapability. */
const UICC_CAPABILITY: Uint8Array = fromHex('007f36c0')

/** EUICCInfo2 (BF22). SGP.22 §5.7.8. */
function euiccInfo2(parts: EuiccParts): Uint8Array {
  const free = Math.max(0, parts.profilesMax - parts.memory.profiles.length)
  return tlv(
    0xbf22,
    tlv(0x81, Uint8Array.from(parts.profileVersion)),
    tlv(0x82, SVN),
    tlv(0x83, Uint8Array.of(1, 0, 0)), // firmware
    tlv(0x84, extCardResource(free)),
    tlv(0x85, parts.capability),
    tlv(0x86, fromHex('090200')), // TS 102 241
    tlv(0x87, fromHex('020300')), // GlobalPlatform
    tlv(0x88, fromHex('0290')), // RSP capability: additionalProfile, testProfileSupport
    ...ciLists(parts),
    tlv(0x04, fromHex('010000')), // protection profile
    tlv(0x0c, Buffer.from('STEEPLE-LAB')), // SAS accreditation
  )
}

/** The CIs of the chains, the most liked first: whom to verify by, and whom to sign under. */
function ciLists(parts: EuiccParts): readonly Uint8Array[] {
  const ids = parts.chains.map((chain) => tlv(0x04, chain.ciPkid))
  return [tlv(0xa9, ...ids), tlv(0xaa, ...ids)]
}

/** Installed applications, free octets of either memory. ETSI TS 102 226 §8.2.1.7.2. */
function extCardResource(freeProfiles: number): Uint8Array {
  const free = Buffer.alloc(4)
  free.writeUInt32BE(Math.min(freeProfiles, 1000) * 0x1_0000)
  return Buffer.concat([fromHex('810100'), tlv(0x82, free), fromHex('8302ffff')])
}

/** Octets of a challenge. SGP.22 §5.7.7. */
const CHALLENGE_OCTETS = 16
const ADDRESS_OCTETS = 255

/** GetEUICCChallenge (BF2E). Ends a session that is under way. SGP.22 §5.7.7. */
function getChallenge(parts: EuiccParts): Uint8Array {
  parts.session = undefined
  parts.challenge = parts.random(CHALLENGE_OCTETS)
  return tlv(0xbf2e, tlv(0x80, parts.challenge))
}

/** AuthenticateServer (BF38). SGP.22 §5.7.13. */
function authenticateServer(parts: EuiccParts, request: Tlv): Uint8Array {
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
): { readonly auth: Certificate; readonly owner: Uint8Array } {
  const auth = trusted(parts.chains, der)
  if (auth.registeredId === undefined)
    throw new Refusal(AUTHENTICATE_ERROR.invalidOid, 'CERT.DPauth has no registered id')
  if (!isSignedBy(publicKeyOf(auth), signed.raw, signature))
    throw new Refusal(AUTHENTICATE_ERROR.invalidSignature, 'serverSignature1 is not CERT.DPauth’s')
  return { auth, owner: auth.registeredId.octets }
}

function trusted(chains: readonly Chain[], der: Uint8Array): Certificate {
  try {
    const certificate = readCertificate(der)
    publicKeyOf(certificate)
    const issuer = chains.find(({ ci }) => ci.subjectKeyId === certificate.authorityKeyId)
    if (issuer === undefined) throw new X509Error('is of a CI that this eUICC does not know')
    checkIssued(certificate, issuer.ci)
    checkRole(certificate, 'dpauth')
    return certificate
  } catch (error) {
    if (!(error instanceof X509Error)) throw error
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

const HASH_OCTETS = 32

/** PrepareDownload (BF21). SGP.22 §5.7.5. */
function prepareDownload(parts: EuiccParts, request: Tlv): Uint8Array {
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
function cancelSession(parts: EuiccParts, request: Tlv): Uint8Array {
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
  if (!isSignedBy(publicKeyOf(pb), text, prepared.signature.value))
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
    checkRole(pb, 'dppb')
    publicKeyOf(pb)
    if (!isSame(pb.registeredId?.octets, session.owner))
      throw new X509Error('has another owner than CERT.DPauth')
    if (pb.authorityKeyId !== session.auth.authorityKeyId)
      throw new X509Error('is of another CI than CERT.DPauth')
    return pb
  } catch (error) {
    if (!(error instanceof X509Error)) throw error
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
