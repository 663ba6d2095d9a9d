import { createCipheriv, createECDH, createHash, createSecretKey, type ECDH } from 'node:crypto'
import { lengthOctets, tlv } from './tlv.ts'

/** Something of a bound profile package that does not hold. Its message has no key and no octet of the profile. */
export class BspError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BspError'
  }
}

/** The curves of SGP.22 §2.6.7.2 that this speaks; ECKA uses the one of CERT.DPpb. */
export type RspCurve = 'P-256' | 'brainpoolP256r1'
const NODE_NAMES: Readonly<Record<RspCurve, string>> = {
  'P-256': 'prime256v1',
  brainpoolP256r1: 'brainpoolP256r1',
}

/** Keys of a BSP instance, 16 octets each. SGP.22 Annex G. */
export interface BspKeys {
  readonly initialMac: Uint8Array
  readonly enc: Uint8Array
  readonly mac: Uint8Array
}

/** A key pair for one key agreement. The private key stays inside. */
export interface OneTimeKey {
  /** `04`, x, y: 65 octets. */
  readonly publicPoint: Uint8Array
  /**
   * The shared secret (32 octets, the x coordinate) with `peer`, 65 octets; whoever asks wipes it. Once: the private
   * key is dropped. Throws `BspError` for a point that is not on the curve.
   */
  agree(peer: Uint8Array): Uint8Array
}

/** AES with 128 bit: key type and key length in a control reference. SGP.22 §5.5.1. */
export const KEY_TYPE = 0x88
/** See `KEY_TYPE`. */
export const KEY_LENGTH = 0x10
const POINT = 65
const SECRET = 32

/** Draws a one-time key; `privateKey` (32 octets) instead of a random one is for known answers. BSI TR-03111 §4.1.3. */
export function oneTimeKey(curve: RspCurve, privateKey?: Uint8Array): OneTimeKey {
  let pair: ECDH | undefined = createECDH(NODE_NAMES[curve])
  if (privateKey === undefined) pair.generateKeys()
  else pair.setPrivateKey(privateKey)
  return {
    publicPoint: new Uint8Array(pair.getPublicKey()),
    agree: (peer) => {
      const own = pair
      pair = undefined
      if (own === undefined) throw new BspError('the one-time key was used already')
      return secretOf(own, peer)
    },
  }
}

/** `length` octets out of a shared secret. ANSI X9.63 §5.6.3 with SHA-256, BSI TR-03111 §4.3.3. */
function x963(secret: Uint8Array, sharedInfo: Uint8Array, length: number): Uint8Array {
  const octets = new Uint8Array(Math.ceil(length / SECRET) * SECRET)
  const counter = new Uint8Array(4)
  for (let block = 1; (block - 1) * SECRET < length; block++) {
    new DataView(counter.buffer).setUint32(0, block)
    const digest = createHash('sha256').update(secret).update(counter).update(sharedInfo).digest()
    octets.set(digest, (block - 1) * SECRET)
    digest.fill(0)
  }
  return octets.subarray(0, length)
}

/**
 * Keys of a session: of the shared secret, the host id (1 to 16 octets) and the EID (32 digits). SGP.22 Annex G:
 * SharedInfo is key type, key length, host id and EID with their lengths.
 */
export function sessionKeys(secret: Uint8Array, hostId: Uint8Array, eid: string): BspKeys {
  const card = eidOctets(eid)
  const info = Uint8Array.of(KEY_TYPE, KEY_LENGTH, hostId.length, ...hostId, card.length, ...card)
  const octets = x963(secret, info, 48)
  return { initialMac: octets.subarray(0, 16), enc: octets.subarray(16, 32), mac: octets.subarray(32, 48) }
}

export function wipeKeys(keys: BspKeys): void {
  for (const key of [keys.initialMac, keys.enc, keys.mac]) key.fill(0)
}

/** The 16 octets of an EID of 32 digits, in their order (tag `5A`). Throws `BspError`. SGP.02 §2.2.2. */
export function eidOctets(eid: string): Uint8Array {
  if (!/^\d{32}$/.test(eid)) throw new BspError('an EID has 32 digits')
  return new Uint8Array(Buffer.from(eid, 'hex'))
}

function secretOf(own: ECDH, peer: Uint8Array): Uint8Array {
  if (peer.length !== POINT || peer[0] !== 0x04)
    throw new BspError('a public key is 04 and two coordinates of 32 octets')
  try {
    return new Uint8Array(own.computeSecret(peer))
  } catch (cause) {
    throw new BspError('the public key is not on the curve', { cause })
  }
}

/** Octets of an AES block. FIPS 197. */
const BLOCK = 16
const ZERO = new Uint8Array(BLOCK)
// Keys go in as key objects: Node takes four times as long to see that octets are none (15 µs with Node 24).
/** Constant of GF(2^128). NIST SP 800-38B §5.3. */
const R128 = 0x87

/**
 * AES-CMAC under one key: each call gives the 16 octets of a message, the first `length` octets of `room`, which has a block more
 * and is overwritten. NIST SP 800-38B §6.2, RFC 4493.
 */
export type Cmac = (room: Uint8Array, length: number) => Uint8Array

/** AES-CMAC under `key`, 16 octets. */
export function cmac(key: Uint8Array): Cmac {
  const encrypt = cbc(key)
  const whole = doubled(encrypt(ZERO, new Uint8Array(BLOCK)))
  const padded = doubled(whole)
  return (room, length) => {
    const rest = length % BLOCK
    const isWhole = rest === 0 && length > 0
    const text = room.subarray(0, isWhole ? length : length + BLOCK - rest)
    if (!isWhole) {
      text.fill(0, length)
      text[length] = 0x80
    }
    const last = text.length - BLOCK
    mix(text, last, isWhole ? whole : padded)
    return new Uint8Array(encrypt(ZERO, text).subarray(last))
  }
}

/**
 * AES-128-CBC without padding under one key: whole blocks of `text`, which is overwritten, with an initial vector each. One
 * cipher goes on and on, for making one costs ten times what a segment does: what it would chain to is mixed out again.
 * NIST SP 800-38A §6.2.
 */
function cbc(key: Uint8Array): (vector: Uint8Array, text: Uint8Array) => Uint8Array {
  const cipher = createCipheriv('aes-128-cbc', createSecretKey(key), ZERO).setAutoPadding(false)
  let before: Uint8Array = ZERO
  return (vector, text) => {
    mix(text, 0, before)
    mix(text, 0, vector)
    const out = cipher.update(text)
    before = new Uint8Array(out.subarray(-BLOCK))
    return out
  }
}

/** Single blocks under AES-128. NIST SP 800-38A §6.1. */
function blocks(key: Uint8Array): (block: Uint8Array) => Uint8Array {
  const cipher = createCipheriv('aes-128-ecb', createSecretKey(key), null).setAutoPadding(false)
  return (block) => cipher.update(block)
}

function mix(text: Uint8Array, at: number, block: Uint8Array): void {
  for (let i = 0; i < BLOCK; i++) text[at + i] = (text[at + i] ?? 0) ^ (block[i] ?? 0)
}

function doubled(block: Uint8Array): Uint8Array {
  const twice = new Uint8Array(BLOCK)
  for (let i = 0; i < BLOCK; i++) twice[i] = ((block[i] ?? 0) << 1) | ((block[i + 1] ?? 0) >> 7)
  if ((block[0] ?? 0) >= 0x80) twice[BLOCK - 1] = (twice[BLOCK - 1] ?? 0) ^ R128
  return twice
}

/** Encrypted segments: of the profile (`86`) and of commands (`87`). SGP.22 §2.5.3. */
type EncryptedTag = 0x86 | 0x87
/** The segments of metadata, which are in the clear. */
const MAC_ONLY = 0x88

/**
 * The sending end of the BSP (SCP03t): its MAC chain and its block counter, which starts at 1 and grows with every segment,
 * those without encryption too. SGP.22 Annex G, GlobalPlatform SCP03t.
 */
export interface Bsp {
  /** One segment out of `plain`, which has at most `MAX_ENCRYPTED` octets. */
  encryptAndMac(tag: EncryptedTag, plain: Uint8Array): Uint8Array
  /** One segment out of `data`, which has at most `MAX_MAC_ONLY` octets and stays readable. */
  macOnly(data: Uint8Array): Uint8Array
  /** Overwrites its keys. */
  wipe(): void
}

/** Octets of a segment with tag and length. SGP.22 §2.5.3. */
const MAX_SEGMENT = 1020
/** Octets of plain text in a segment of `MAX_SEGMENT`: the padding takes at least one. */
const MAX_ENCRYPTED = 1007
/** Octets of data in a segment without encryption. */
const MAX_MAC_ONLY = 1008
const MAC = 8

/** An instance with these keys, which it copies. */
export function bsp(keys: BspKeys): Bsp {
  const enc = Uint8Array.from(keys.enc)
  const mac = Uint8Array.from(keys.mac)
  const sum = cmac(mac)
  const encrypt = cbc(enc)
  const block = blocks(enc)
  /** For one segment after the other, since an array for each costs as much as its cipher. */
  const room = new Uint8Array(MAX_SEGMENT + 2 * BLOCK)
  let chain: Uint8Array = Uint8Array.from(keys.initialMac)
  let counter = 1
  let isOver = false

  const turn = (): Uint8Array => {
    if (isOver) throw new BspError('the session is over')
    return block(counterBlock(counter++))
  }
  const sealed = (tag: number, data: Uint8Array): Uint8Array => {
    chain = sum(room, chained(room, chain, tag, data))
    return tlv(tag, data, chain.subarray(0, MAC))
  }
  return {
    encryptAndMac: (tag, plain) => {
      atMost(plain, MAX_ENCRYPTED)
      const text = padded(room, plain)
      const data = encrypt(turn(), text)
      text.fill(0)
      return sealed(tag, data)
    },
    macOnly: (data) => {
      atMost(data, MAX_MAC_ONLY)
      turn()
      return sealed(MAC_ONLY, data)
    },
    wipe: () => {
      for (const key of [enc, mac, chain, room]) key.fill(0)
      isOver = true
    },
  }
}

/** `octets` in segments that are as long as they may be. */
export function encryptedSegments(
  instance: Bsp,
  tag: EncryptedTag,
  octets: Uint8Array,
): readonly Uint8Array[] {
  return pieces(octets, MAX_ENCRYPTED).map((piece) => instance.encryptAndMac(tag, piece))
}

/** The same without encryption. */
export function macOnlySegments(instance: Bsp, octets: Uint8Array): readonly Uint8Array[] {
  return pieces(octets, MAX_MAC_ONLY).map((piece) => instance.macOnly(piece))
}

function pieces(octets: Uint8Array, length: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(octets.length / length) }, (_, i) =>
    octets.subarray(i * length, (i + 1) * length),
  )
}

function atMost(octets: Uint8Array, limit: number): void {
  if (octets.length > limit)
    throw new BspError(`a segment holds at most ${limit} octets, not ${octets.length}`)
}

/** What is encrypted to the initial vector of a segment. GlobalPlatform Amendment D §4.1.4 as SCP03t uses it. */
function counterBlock(counter: number): Uint8Array {
  const block = new Uint8Array(BLOCK)
  new DataView(block.buffer).setUint32(BLOCK - 4, counter)
  return block
}

/** Padded always, to a whole block: `80 00…`. ISO/IEC 9797-1 method 2. */
function padded(room: Uint8Array, plain: Uint8Array): Uint8Array {
  const text = room.subarray(0, (Math.floor(plain.length / BLOCK) + 1) * BLOCK)
  text.set(plain)
  text.fill(0, plain.length)
  text[plain.length] = 0x80
  return text
}

/** What a MAC is over: the chain, the tag, the length with the MAC, the data. Gives how many octets of `room` that are. */
function chained(room: Uint8Array, chain: Uint8Array, tag: number, data: Uint8Array): number {
  const head = [tag, ...lengthOctets(data.length + MAC)]
  room.set(chain)
  room.set(head, BLOCK)
  room.set(data, BLOCK + head.length)
  return BLOCK + head.length + data.length
}
