import { createHash } from 'node:crypto'
import { child, readOne, type Tlv, TlvError, tlv } from '@steeple/sgp22'
import { CANCEL_REASON, type Code } from './codes.ts'
import { type Es9Client, type Es9Transport, es9Client, fetchTransport, octetsOf } from './es9-client.ts'
import type { Euicc } from './euicc.ts'
import { eventsFrom, type Metadata, type NotifiedEvent, readMetadata } from './metadata.ts'
import { fromHex, integerFrom, integerOctets, isSame, toHex } from './octets.ts'
import type { InstalledProfile } from './profiles.ts'

export interface PendingNotification {
  readonly sequence: number
  readonly event: NotifiedEvent | undefined
  readonly address: string
}

/** What an LPA gives with its authentication. SGP.22 §5.7.13. */
export interface ServerAuthentication {
  readonly serverSigned1: Uint8Array
  readonly serverSignature1: Uint8Array
  readonly ciPkid: Uint8Array
  readonly certificate: Uint8Array
  /** Undefined for none: a default SM-DP+. */
  readonly matchingId: string | undefined
}

/** Type allocation code of a phone that does not exist, and its IMEI. SGP.22 §4.2. */
const TAC = Uint8Array.of(0x35, 0x29, 0x06, 0x11)

/** The challenge of an eUICC, 16 octets. */
export function challengeOf(euicc: Euicc): Uint8Array {
  return child(readOne(euicc.execute(tlv(0xbf2e))), 0x80)?.value ?? new Uint8Array()
}

/** EUICCInfo1 as it goes to a server. */
export function info1Of(euicc: Euicc): Uint8Array {
  return euicc.execute(tlv(0xbf20))
}

/** AuthenticateServer: the answer, BF38. */
export function authenticateServerOn(euicc: Euicc, server: ServerAuthentication): Uint8Array {
  const { matchingId } = server
  const context = tlv(
    0xa0,
    ...(matchingId === undefined ? [] : [tlv(0x80, Buffer.from(matchingId))]),
    tlv(0xa1, tlv(0x80, TAC), tlv(0xa1)),
  )
  return euicc.execute(
    tlv(0xbf38, server.serverSigned1, server.serverSignature1, server.ciPkid, server.certificate, context),
  )
}

/** PrepareDownload: the answer, BF21. `hashCc` is SGP.22 §5.7.5's. */
export function prepareDownloadOn(
  euicc: Euicc,
  smdpSigned2: Uint8Array,
  smdpSignature2: Uint8Array,
  certificate: Uint8Array,
  hashCc: Uint8Array | undefined,
): Uint8Array {
  const code = hashCc === undefined ? [] : [tlv(0x04, hashCc)]
  return euicc.execute(tlv(0xbf21, smdpSigned2, smdpSignature2, ...code, certificate))
}

/** CancelSession: the answer, BF41. */
export function cancelSessionOn(euicc: Euicc, transactionId: Uint8Array, reason: number): Uint8Array {
  return euicc.execute(tlv(0xbf41, tlv(0x80, transactionId), tlv(0x81, Uint8Array.of(reason))))
}

/** Enables a profile by its ICCID in 10 octets with swapped digits. A code of `PROFILE_RESULT`. */
export function enableOn(euicc: Euicc, iccid: Uint8Array): number {
  return resultOf(euicc.execute(tlv(0xbf31, tlv(0xa0, tlv(0x5a, iccid)), tlv(0x81, Uint8Array.of(0xff)))))
}

/** Disables a profile. A code of `PROFILE_RESULT`. */
export function disableOn(euicc: Euicc, iccid: Uint8Array): number {
  return resultOf(euicc.execute(tlv(0xbf32, tlv(0xa0, tlv(0x5a, iccid)), tlv(0x81, Uint8Array.of(0xff)))))
}

/** Deletes a profile. A code of `PROFILE_RESULT`. */
export function deleteOn(euicc: Euicc, iccid: Uint8Array): number {
  return resultOf(euicc.execute(tlv(0xbf33, tlv(0x5a, iccid))))
}

/** The notifications that wait, the oldest first. */
export function notificationsOn(euicc: Euicc): readonly PendingNotification[] {
  const list = child(readOne(euicc.execute(tlv(0xbf28))), 0xa0)
  return (list?.children() ?? []).map((one) => ({
    sequence: integerFrom(child(one, 0x80)?.value) ?? 0,
    event: eventsFrom(child(one, 0x81)?.value ?? new Uint8Array())[0],
    address: Buffer.from(child(one, 0x0c)?.value ?? []).toString('utf8'),
  }))
}

/** One notification as it goes to a server; undefined when it is not there. */
export function retrieveOn(euicc: Euicc, sequence: number): Uint8Array | undefined {
  const request = tlv(0xbf2b, tlv(0xa0, tlv(0x80, integerOctets(sequence))))
  return child(readOne(euicc.execute(request)), 0xa0)?.children()[0]?.raw
}

/** Removes a notification that was delivered. */
function removeOn(euicc: Euicc, sequence: number): void {
  euicc.execute(tlv(0xbf30, tlv(0x80, integerOctets(sequence))))
}

function resultOf(answer: Uint8Array): number {
  return child(readOne(answer), 0x80)?.value[0] ?? 127
}

/** What an activation code says. SGP.22 §4.1. */
export interface ActivationCode {
  readonly smdpAddress: string
  readonly matchingId: string
  /** Dotted object identifier that the SM-DP+ must have. */
  readonly smdpOid: string | undefined
  readonly isConfirmationRequired: boolean
}

/** An activation code that is none. The message does not repeat it. */
export class ActivationCodeError extends Error {}

const CODE_LENGTH_MAX = 255

/** Reads `LPA:1$…` or `1$…`. Throws `ActivationCodeError`. SGP.22 §4.1, §4.1.3. */
export function readActivationCode(text: string): ActivationCode {
  const code = text.trim().replace(/^LPA:/i, '')
  if (code.length > CODE_LENGTH_MAX) throw new ActivationCodeError('the activation code is longer than 255')
  const [format, smdpAddress, matchingId, smdpOid, confirmation, ...rest] = code.split('$')
  if (format !== '1' || rest.length > 0)
    throw new ActivationCodeError('an activation code reads LPA:1$<server>$<matching id>')
  if (smdpAddress === undefined || smdpAddress === '' || matchingId === undefined)
    throw new ActivationCodeError('the activation code has no server or no matching id')
  // As unmodified LPAs do: lpac refuses other characters. SGP.22 §4.1.1.
  if (!/^[A-Za-z0-9-]*$/.test(matchingId))
    throw new ActivationCodeError('the matching id has characters that are not allowed')
  return {
    smdpAddress,
    matchingId,
    smdpOid: smdpOid === undefined || smdpOid === '' ? undefined : smdpOid,
    isConfirmationRequired: confirmation === '1',
  }
}

export interface DownloadOptions {
  readonly euicc: Euicc
  /** `LPA:1$…`. */
  readonly activationCode: string
  readonly confirmationCode?: string
  /** Where the server is, when not at `https://` and the address in the code. Without a path. */
  readonly baseUrl?: string
  readonly transport?: Es9Transport
  /** Asked with the metadata before the profile is fetched: go on, or why not. Goes on unless said. */
  readonly consent?: (metadata: Metadata) => 'install' | CancelReason
  /** Whether to deliver the notifications afterwards. Does unless said. */
  readonly notify?: boolean
}

/** Why an LPA cancels. */
type CancelReason = Code<typeof CANCEL_REASON>

export interface Download {
  readonly profile: InstalledProfile
  readonly metadata: Metadata
  readonly transactionId: string
  /** The result that was signed, BF37. */
  readonly result: Uint8Array
}

/** A step at which an LPA or its eUICC gave up. `code` is the eUICC's, where it gave one. */
export class LpaError extends Error {
  readonly step: LpaStep
  readonly code: number | undefined

  constructor(step: LpaStep, what: string, code?: number) {
    super(`${step}: ${what}${code === undefined ? '' : ` (${code})`}`)
    this.name = 'LpaError'
    this.step = step
    this.code = code
  }
}

export type LpaStep = 'code' | 'authenticate' | 'consent' | 'confirm' | 'prepare' | 'install'

/**
 * Downloads a profile as an LPA does: authenticates, asks, prepares, fetches, installs segment by segment, and
 * delivers the notifications. A session that fails after authentication is cancelled at the server.
 * Throws `LpaError`, `Es9Refused`, `Es9Error`. Source: SGP.22 §3.1.3.
 */
export async function downloadProfile(options: DownloadOptions): Promise<Download> {
  const code = readActivationCode(options.activationCode)
  if (code.isConfirmationRequired && options.confirmationCode === undefined)
    throw new LpaError('code', 'the activation code asks for a confirmation code')
  const client = es9Client(
    options.baseUrl ?? `https://${code.smdpAddress}`,
    options.transport ?? fetchTransport,
  )
  const session = await authenticated(client, options.euicc, code)
  try {
    const bound = await prepared(client, options, session)
    const result = installed(options.euicc, bound)
    if (options.notify !== false) await deliverNotifications(options.euicc, client, code.smdpAddress)
    const profile = options.euicc.profiles().find((one) => one.iccid === session.metadata.iccid)
    if (profile === undefined) throw new LpaError('install', 'the profile is not there')
    return { profile, metadata: session.metadata, transactionId: toHex(session.transactionId), result }
  } catch (error) {
    await abandoned(client, options, session, error)
    throw error
  }
}

/** Delivers the notifications for one server, the oldest first, and removes each that it took. How many. SGP.22 §3.5. */
export async function deliverNotifications(
  euicc: Euicc,
  client: Pick<Es9Client, 'notify'>,
  address: string,
): Promise<number> {
  let count = 0
  for (const waiting of notificationsOn(euicc)) {
    if (waiting.address.toLowerCase() !== address.toLowerCase()) continue
    const pending = retrieveOn(euicc, waiting.sequence)
    if (pending === undefined) continue
    await client.notify(pending)
    removeOn(euicc, waiting.sequence)
    count++
  }
  return count
}

/** hashCc: what is shown instead of a confirmation code. SGP.22 §3.1.3 step 8. */
export function hashedConfirmationCode(code: string, transactionId: Uint8Array): Uint8Array {
  const inner = createHash('sha256').update(code, 'utf8').digest()
  return Uint8Array.from(createHash('sha256').update(inner).update(transactionId).digest())
}

interface ServerSession {
  readonly transactionId: Uint8Array
  readonly metadata: Metadata
  readonly metadataText: Uint8Array
  readonly smdpSigned2: Uint8Array
  readonly smdpSignature2: Uint8Array
  readonly certificate: Uint8Array
}

async function authenticated(client: Es9Client, euicc: Euicc, code: ActivationCode): Promise<ServerSession> {
  const begun = await client.call('initiateAuthentication', {
    euiccChallenge: Buffer.from(challengeOf(euicc)).toString('base64'),
    euiccInfo1: Buffer.from(info1Of(euicc)).toString('base64'),
    smdpAddress: code.smdpAddress,
  })
  const serverSigned1 = octetsOf(begun, 'serverSigned1')
  const address = Buffer.from(child(readOne(serverSigned1), 0x83)?.value ?? []).toString('utf8')
  if (address.toLowerCase() !== code.smdpAddress.toLowerCase())
    throw new LpaError('authenticate', 'the server signed another address than the activation code has')
  const transactionId = transactionIdOf(begun)
  if (!isSame(child(readOne(serverSigned1), 0x80)?.value, transactionId))
    throw new LpaError('authenticate', 'the server signed another transaction id than it sent')
  const answer = authenticateServerOn(euicc, {
    serverSigned1,
    serverSignature1: octetsOf(begun, 'serverSignature1'),
    ciPkid: octetsOf(begun, 'euiccCiPKIdToBeUsed'),
    certificate: octetsOf(begun, 'serverCertificate'),
    matchingId: code.matchingId,
  })
  const refused = refusedCode(answer)
  const shown = await client.call('authenticateClient', {
    transactionId: toHex(transactionId),
    authenticateServerResponse: Buffer.from(answer).toString('base64'),
  })
  if (refused !== undefined) throw new LpaError('authenticate', 'the eUICC refused the server', refused)
  const metadataText = octetsOf(shown, 'profileMetadata')
  return {
    transactionId,
    metadata: readMetadata(metadataText),
    metadataText,
    smdpSigned2: octetsOf(shown, 'smdpSigned2'),
    smdpSignature2: octetsOf(shown, 'smdpSignature2'),
    certificate: octetsOf(shown, 'smdpCertificate'),
  }
}

async function prepared(
  client: Es9Client,
  options: DownloadOptions,
  session: ServerSession,
): Promise<Uint8Array> {
  const agreed = options.consent?.(session.metadata) ?? 'install'
  if (agreed !== 'install') throw new LpaError('consent', 'was refused', agreed)
  const isAsked = (child(readOne(session.smdpSigned2), 0x01)?.value[0] ?? 0) !== 0
  const { confirmationCode } = options
  // Postponed: the user is asked and may come again; any other reason would use the code up. SGP.22 §3.1.3.1.
  if (isAsked && confirmationCode === undefined)
    throw new LpaError('confirm', 'a confirmation code is needed', CANCEL_REASON.postponed)
  const hashCc =
    isAsked && confirmationCode !== undefined
      ? hashedConfirmationCode(confirmationCode, session.transactionId)
      : undefined
  const answer = prepareDownloadOn(
    options.euicc,
    session.smdpSigned2,
    session.smdpSignature2,
    session.certificate,
    hashCc,
  )
  const refused = refusedCode(answer)
  const bound = await client.call('getBoundProfilePackage', {
    transactionId: toHex(session.transactionId),
    prepareDownloadResponse: Buffer.from(answer).toString('base64'),
  })
  if (refused !== undefined) throw new LpaError('prepare', 'the eUICC refused the download', refused)
  return octetsOf(bound, 'boundProfilePackage')
}

function installed(euicc: Euicc, boundProfilePackage: Uint8Array): Uint8Array {
  for (const segment of segmentsOf(boundProfilePackage)) {
    const answer = euicc.execute(segment)
    if (answer.length === 0) continue
    const data = child(readOne(answer), 0xbf27)
    const final = data === undefined ? undefined : child(data, 0xa2)?.children()[0]
    if (final?.tag === 0xa0) return answer
    throw new LpaError(
      'install',
      `the eUICC refused the package in command ${final === undefined ? '' : (child(final, 0x80)?.value[0] ?? '')}`,
      final === undefined ? undefined : child(final, 0x81)?.value[0],
    )
  }
  throw new LpaError('install', 'the package ended and the eUICC waits for more')
}

/** Tells the server that a session is over: a cancelled one, or a result that says why. */
async function abandoned(
  client: Es9Client,
  options: DownloadOptions,
  session: ServerSession,
  error: unknown,
): Promise<void> {
  const isRefusedByEuicc = error instanceof LpaError && (error.step === 'prepare' || error.step === 'install')
  if (isRefusedByEuicc) {
    if (options.notify !== false) await deliverNotifications(options.euicc, client, addressOf(options))
    return
  }
  const reason =
    error instanceof LpaError && error.code !== undefined ? error.code : CANCEL_REASON.endUserRejection
  const answer = cancelSessionOn(options.euicc, session.transactionId, reason)
  await client
    .call('cancelSession', {
      transactionId: toHex(session.transactionId),
      cancelSessionResponse: Buffer.from(answer).toString('base64'),
    })
    .catch(() => undefined) // the server may have ended the session: what failed first is what counts
}

function addressOf(options: DownloadOptions): string {
  return readActivationCode(options.activationCode).smdpAddress
}

function transactionIdOf(answer: Readonly<Record<string, unknown>>): Uint8Array {
  const text = answer.transactionId
  if (typeof text !== 'string' || !/^(?:[0-9A-Fa-f]{2}){1,16}$/.test(text))
    throw new LpaError('authenticate', 'the server sent no transaction id')
  return fromHex(text)
}

/** The code of an answer that is an error (A1 with 02); undefined for a good one. */
function refusedCode(answer: Uint8Array): number | undefined {
  const failed = child(readOne(answer), 0xa1)
  return failed === undefined ? undefined : (child(failed, 0x02)?.value[0] ?? 127)
}

/**
 * A bound profile package (BF36) as an LPA hands it to the eUICC: the head with InitialiseSecureChannel, A0 whole,
 * the head of A1, each 88, A2 whole when there is one, the head of A3, each 86. Throws `TlvError`. SGP.22 §2.5.5.
 */
export function segmentsOf(boundProfilePackage: Uint8Array): readonly Uint8Array[] {
  const whole = readOne(boundProfilePackage)
  const [channel, ...lists] = whole.children()
  if (whole.tag !== 0xbf36 || channel?.tag !== 0xbf23) throw new TlvError(0, 'is no bound profile package')
  const head = boundProfilePackage.subarray(0, channel.at + channel.raw.length)
  return [
    head,
    ...lists.flatMap((list) => (list.tag === 0xa1 || list.tag === 0xa3 ? opened(list) : [list.raw])),
  ]
}

function opened(list: Tlv): readonly Uint8Array[] {
  const items = list.children()
  return [list.raw.subarray(0, list.raw.length - list.value.length), ...items.map((item) => item.raw)]
}
