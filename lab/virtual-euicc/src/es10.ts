import { child, readOne, type Tlv, tlv } from '@steeple/sgp22'
import type { Euicc } from './euicc.ts'
import { eventsFrom, type NotifiedEvent } from './metadata.ts'
import { integerFrom, integerOctets } from './octets.ts'

/** A notification that waits. */
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
export function removeOn(euicc: Euicc, sequence: number): void {
  euicc.execute(tlv(0xbf30, tlv(0x80, integerOctets(sequence))))
}

/** The profiles, as GetProfilesInfo tells them. */
export function profilesOn(euicc: Euicc): readonly Tlv[] {
  return child(readOne(euicc.execute(tlv(0xbf2d))), 0xa0)?.children() ?? []
}

function resultOf(answer: Uint8Array): number {
  return child(readOne(answer), 0x80)?.value[0] ?? 127
}
