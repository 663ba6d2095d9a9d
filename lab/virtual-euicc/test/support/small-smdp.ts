import { randomBytes } from 'node:crypto'
import { child, type RspCurve, readCertificate, readOne, tlv } from '@steeple/sgp22'
import { keyMaterial, oneTimeKey, signatureOf } from '../../src/ecc.ts'
import type { Es9Transport } from '../../src/es9-client.ts'
import { fromHex, nibblesSwapped, toHex } from '../../src/octets.ts'
import { certificate, EID, fixture, key } from './pki.ts'
import { sealing } from './sealing.ts'

/** Changes that a test makes to what the server sends. */
export interface Twists {
  readonly curve?: RspCurve
  readonly confirmation?: boolean
  readonly ppk?: boolean
  readonly chunk?: number
  readonly profile?: Uint8Array
  readonly metadata?: Uint8Array
  readonly dpauth?: Uint8Array
  readonly dppb?: Uint8Array
  readonly configure?: Uint8Array
  readonly crt?: Uint8Array
  readonly operation?: number
  readonly bppTransaction?: Uint8Array
  /** Changes an answer before it is sent. */
  readonly answer?: (name: string, answer: Record<string, string>) => Record<string, string>
  /** The server's address. */
  readonly address?: string
  /** Offers this key for use again. */
  readonly offered?: Uint8Array
}

/** A server that believes everything: what an eUICC is to check is not checked here. */
export interface SmallSmdp {
  readonly transport: Es9Transport
  readonly notifications: Uint8Array[]
  readonly cancelled: number[]
  readonly hashCc: (Uint8Array | undefined)[]
  readonly otpks: Uint8Array[]
  readonly transactionIds: Uint8Array[]
}

/** The address of the server, unless it has another. */
const ADDRESS = 'smdp.test'
/** The activation code of its only profile. */
export const CODE = `LPA:1$${ADDRESS}$A-1`
/** The metadata that belongs to the fixture profile; `iccid` in reading order. */
export function metadata(iccid = '8999901000000000013F', ...more: readonly Uint8Array[]): Uint8Array {
  return metadataFor(ADDRESS, '04F0', iccid, ...more)
}

/** Metadata that asks `address` to be told of the events in `bits`. */
export function metadataFor(
  address: string,
  bits: string,
  iccid: string,
  ...more: readonly Uint8Array[]
): Uint8Array {
  const target = tlv(0x30, tlv(0x80, fromHex(bits)), tlv(0x81, Buffer.from(address)))
  return tlv(
    0xbf25,
    tlv(0x5a, nibblesSwapped(fromHex(iccid))),
    tlv(0x91, Buffer.from('Steeple')),
    tlv(0x92, Buffer.from('Lab')),
    tlv(0xb6, target),
    ...more,
  )
}

export function smallSmdp(twists: Twists = {}): SmallSmdp {
  const curve = twists.curve ?? 'P-256'
  const b64 = (octets: Uint8Array) => Buffer.from(octets).toString('base64')
  const server: SmallSmdp = {
    notifications: [],
    cancelled: [],
    hashCc: [],
    otpks: [],
    transactionIds: [],
    transport: async (url, _headers, body) => {
      const name = url.split('/').at(-1) ?? ''
      const request = JSON.parse(body) as Record<string, string>
      if (name === 'handleNotification') {
        server.notifications.push(Uint8Array.from(Buffer.from(request.pendingNotification ?? '', 'base64')))
        return { status: 204, contentType: undefined, body: '' }
      }
      const answer = answers[name]?.(request) ?? {}
      const header = { functionExecutionStatus: { status: 'Executed-Success' } }
      const sent = twists.answer?.(name, answer) ?? answer
      return { status: 200, contentType: 'application/json', body: JSON.stringify({ header, ...sent }) }
    },
  }
  let transactionId: Uint8Array = new Uint8Array()
  let signature1: Uint8Array = new Uint8Array()
  const answers: Record<string, (request: Record<string, string>) => Record<string, string>> = {
    initiateAuthentication: (request) => {
      transactionId = Uint8Array.from(randomBytes(16))
      server.transactionIds.push(transactionId)
      const signed = tlv(
        0x30,
        tlv(0x80, transactionId),
        tlv(0x81, Buffer.from(request.euiccChallenge ?? '', 'base64')),
        tlv(0x83, Buffer.from(twists.address ?? ADDRESS)),
        tlv(0x84, randomBytes(16)),
      )
      const dpauth = twists.dpauth ?? certificate(curve, 'dpauth')
      return {
        transactionId: toHex(transactionId),
        serverSigned1: b64(signed),
        serverSignature1: b64(tlv(0x5f37, signatureOf(key(curve, 'dpauth'), signed))),
        euiccCiPKIdToBeUsed: b64(tlv(0x04, ciPkid(curve))),
        serverCertificate: b64(dpauth),
      }
    },
    authenticateClient: (request) => {
      const answer = readOne(Buffer.from(request.authenticateServerResponse ?? '', 'base64'))
      signature1 = child(answer, 0xa0)?.children()[1]?.raw ?? new Uint8Array()
      const signed = tlv(
        0x30,
        tlv(0x80, transactionId),
        tlv(0x01, Uint8Array.of(twists.confirmation === true ? 0xff : 0)),
        ...(twists.offered === undefined ? [] : [tlv(0x5f49, twists.offered)]),
      )
      return {
        transactionId: toHex(transactionId),
        profileMetadata: b64(twists.metadata ?? metadata()),
        smdpSigned2: b64(signed),
        smdpSignature2: b64(
          tlv(0x5f37, signatureOf(key(curve, 'dppb'), Buffer.concat([signed, signature1]))),
        ),
        smdpCertificate: b64(twists.dppb ?? certificate(curve, 'dppb')),
      }
    },
    getBoundProfilePackage: (request) => {
      const answer = readOne(Buffer.from(request.prepareDownloadResponse ?? '', 'base64'))
      const signed = child(answer, 0xa0)?.children()[0]
      const otpk = signed === undefined ? undefined : child(signed, 0x5f49)?.value
      server.hashCc.push(signed === undefined ? undefined : child(signed, 0x04)?.value)
      if (otpk === undefined) return {}
      server.otpks.push(otpk)
      return { boundProfilePackage: b64(boundProfilePackage(twists, transactionId, otpk)) }
    },
    cancelSession: (request) => {
      const answer = readOne(Buffer.from(request.cancelSessionResponse ?? '', 'base64'))
      const signed = child(answer, 0xa0)?.children()[0]
      server.cancelled.push(signed === undefined ? -1 : (child(signed, 0x82)?.value[0] ?? -1))
      return {}
    },
  }
  return server
}

/** The subject key identifier of the fixtures' CI. */
function ciPkid(curve: RspCurve): Uint8Array {
  return Buffer.from(readCertificate(certificate(curve, 'ci')).subjectKeyId ?? '', 'hex')
}

/** A package bound to an eUICC's one-time key. */
export function boundProfilePackage(twists: Twists, transactionId: Uint8Array, otpk: Uint8Array): Uint8Array {
  const curve = twists.curve ?? 'P-256'
  const pair = oneTimeKey(curve)
  const hostId = fromHex('0102030405060708')
  const crt = twists.crt ?? tlv(0xa6, tlv(0x80, fromHex('88')), tlv(0x81, fromHex('10')), tlv(0x84, hostId))
  const parts = [
    tlv(0x82, Uint8Array.of(twists.operation ?? 1)),
    tlv(0x80, twists.bppTransaction ?? transactionId),
    crt,
    tlv(0x5f49, pair.point),
  ]
  const signed = Buffer.concat([...parts, tlv(0x5f49, otpk)])
  const signature = tlv(0x5f37, signatureOf(key(curve, 'dppb'), signed))
  const sharedInfo = Buffer.concat([fromHex('881008'), hostId, fromHex('10'), fromHex(EID)])
  const material = keyMaterial(pair.agree(otpk), sharedInfo, 48)
  const session = sealing({
    chaining: material.subarray(0, 16),
    encryption: material.subarray(16, 32),
    mac: material.subarray(32),
  })
  const lists = [
    tlv(0xa0, session.seal(0x87, twists.configure ?? tlv(0xbf24))),
    tlv(0xa1, session.seal(0x88, twists.metadata ?? metadata())),
  ]
  let channel = session
  if (twists.ppk === true) {
    const [chaining, encryption, mac] = [randomBytes(16), randomBytes(16), randomBytes(16)] as const
    lists.push(
      tlv(0xa2, session.seal(0x87, tlv(0xbf26, tlv(0x80, chaining), tlv(0x81, encryption), tlv(0x82, mac)))),
    )
    channel = sealing({ chaining, encryption, mac })
  }
  const profile = twists.profile ?? fixture('perso-v7.der')
  const chunk = twists.chunk ?? 1007
  const segments: Uint8Array[] = []
  for (let at = 0; at < profile.length; at += chunk)
    segments.push(channel.seal(0x86, profile.subarray(at, at + chunk)))
  return tlv(0xbf36, tlv(0xbf23, ...parts, signature), ...lists, tlv(0xa3, ...segments))
}
