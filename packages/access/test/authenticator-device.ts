import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** What a device does other than it should. */
export interface Misbehaviour {
  /** What the browser says of the page around the one that asks. */
  readonly frame?: { readonly crossOrigin?: unknown; readonly topOrigin?: string }
  /** Nobody gave a PIN or a finger. */
  readonly isUnverified?: boolean
  /** The count that it says; its own otherwise. */
  readonly counter?: number
  /** The host name that it signs for; that of the options otherwise. */
  readonly rpId?: string
  readonly attestation?: Uint8Array
}

/** An authenticator in software: makes one passkey, and signs with it. Source: W3C WebAuthn Level 3 §6. */
export interface Device {
  readonly id: string
  /** What `PublicKeyCredential.toJSON()` gives after `create`. */
  create(options: Options, origin: string, otherwise?: Misbehaviour): CreatedJson
  /** What `PublicKeyCredential.toJSON()` gives after `get`. */
  get(options: Options, origin: string, otherwise?: Misbehaviour): SignedJson
}

/** What both kinds of options have. */
export interface Options {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id?: string }
}

/** A registration as the service takes it. */
export type CreatedJson = Common & {
  response: { clientDataJSON: string; attestationObject: string; transports: [] }
}
/** An assertion as the service takes it. */
export type SignedJson = Common & {
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle: string }
}
interface Common {
  id: string
  rawId: string
  type: 'public-key'
  clientExtensionResults: Record<string, never>
}

const PRESENT = 0x01
const VERIFIED = 0x04
const HAS_KEY = 0x40
/** COSE: kty EC2, alg ES256, crv P-256. RFC 9053 §7.1. */
const [KTY, ALG, CRV, X, Y] = [1, 3, -1, -2, -3]

/** A device for the user with that id. It counts from 1, or not at all. */
export function device(userId: string, counts = true): Device {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const rawId = randomBytes(32)
  const id = rawId.toString('base64url')
  let signed = 0
  const counted = (otherwise: Misbehaviour): number => {
    if (counts) signed += 1
    return otherwise.counter ?? signed
  }
  const head = (rpId: string, flags: number, counter: number): Buffer => {
    const octets = Buffer.alloc(37)
    createHash('sha256').update(rpId).digest().copy(octets)
    octets[32] = flags
    octets.writeUInt32BE(counter, 33)
    return octets
  }
  const flagsOf = ({ isUnverified = false }: Misbehaviour): number => PRESENT | (isUnverified ? 0 : VERIFIED)
  const common = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} }
  return {
    id,
    create: (options, origin, otherwise = {}) => {
      const key = cbor(
        new Map<number, number | Buffer>([
          [KTY, 2],
          [ALG, -7],
          [CRV, 1],
          [X, Buffer.from(x, 'base64url')],
          [Y, Buffer.from(y, 'base64url')],
        ]),
      )
      const rpId = otherwise.rpId ?? options.rp?.id ?? ''
      const idLength = Buffer.from([0, rawId.length])
      const data = [
        head(rpId, flagsOf(otherwise) | HAS_KEY, counted(otherwise)),
        Buffer.alloc(16),
        idLength,
        rawId,
        key,
      ]
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', Buffer.concat(data)],
      ])
      return {
        ...common,
        response: {
          clientDataJSON: clientData('webauthn.create', options.challenge, origin, otherwise),
          attestationObject: Buffer.from(otherwise.attestation ?? cbor(attestation)).toString('base64url'),
          transports: [],
        },
      }
    },
    get: (options, origin, otherwise = {}) => {
      const clientDataJSON = clientData('webauthn.get', options.challenge, origin, otherwise)
      const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
      const data = head(otherwise.rpId ?? options.rpId ?? '', flagsOf(otherwise), counted(otherwise))
      return {
        ...common,
        response: {
          clientDataJSON,
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', Buffer.concat([data, hash]), privateKey).toString('base64url'),
          userHandle: Buffer.from(userId).toString('base64url'),
        },
      }
    },
  }
}

function clientData(type: string, challenge: string, origin: string, { frame }: Misbehaviour): string {
  const data = { type, challenge, origin, crossOrigin: false, ...frame }
  return Buffer.from(JSON.stringify(data)).toString('base64url')
}

/** What of CBOR is needed here. RFC 8949 §3. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value >= 0 ? cborHead(0, value) : cborHead(1, -1 - value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, value.length), ...value.map(cbor)])
  if (value instanceof Map)
    return Buffer.concat([
      cborHead(5, value.size),
      ...[...value].flatMap(([key, each]) => [cbor(key), cbor(each)]),
    ])
  throw new Error(`no CBOR for ${typeof value}`)
}

function cborHead(major: number, length: number): Buffer {
  const kind = major << 5
  if (length < 24) return Buffer.from([kind | length])
  if (length < 256) return Buffer.from([kind | 24, length])
  return Buffer.from([kind | 25, length >> 8, length & 0xff])
}
