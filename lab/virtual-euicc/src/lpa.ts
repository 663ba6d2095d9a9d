import { createHash } from 'node:crypto'
import { child, readOne } from '@steeple/sgp22'
import { type ActivationCode, readActivationCode } from './activation-code.ts'
import { CANCEL_REASON, type Code } from './codes.ts'
import { type Es9Client, type Es9Transport, es9Client, fetchTransport, octetsOf } from './es9-client.ts'
import {
  authenticateServerOn,
  cancelSessionOn,
  challengeOf,
  info1Of,
  notificationsOn,
  prepareDownloadOn,
  removeOn,
  retrieveOn,
} from './es10.ts'
import type { Euicc } from './euicc.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import { fromHex, isSame, toHex } from './octets.ts'
import type { InstalledProfile } from './profiles.ts'
import { segmentsOf } from './segments.ts'

/** How a download is made. */
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
export type CancelReason = Code<typeof CANCEL_REASON>

/** A download that ended well. */
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

/** Where a download may end. */
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
