import { createCipheriv, createDecipheriv } from 'node:crypto'
import { BPP_ERROR, Refusal } from './codes.ts'
import { isSame } from './octets.ts'

/** Keys of a secure channel, 16 octets each. SGP.22 §2.6.4. */
export interface ChannelKeys {
  /** The initial MAC chaining value. */
  readonly chaining: Uint8Array
  readonly encryption: Uint8Array
  readonly mac: Uint8Array
}

/** The receiving end of a secure channel: opens segments in the order in which they were closed. */
export interface SecureChannel {
  /** The text of an encrypted segment (86, 87). Throws `Refusal` with SCP03t's error reasons. */
  decrypted(segment: Uint8Array): Uint8Array
  /** The text of a segment that is only protected against change (88). Throws `Refusal`. */
  verified(segment: Uint8Array): Uint8Array
}

const BLOCK = 16
const MAC_OCTETS = 8
/** Tag, length, text and MAC together. SGP.22 §2.5.3. */
const SEGMENT_OCTETS = 1020

/** SCP03t, receiving. SGP.22 §2.6.4.3. */
export function secureChannel(keys: ChannelKeys): SecureChannel {
  let chaining = keys.chaining
  let counter = 0
  const checked = (segment: Uint8Array): Uint8Array => {
    if (segment.length > SEGMENT_OCTETS)
      throw structure(`has ${segment.length} octets, and ${SEGMENT_OCTETS} are allowed`)
    const head = headOctets(segment)
    if (segment.length < head + MAC_OCTETS) throw structure('has no room for its MAC')
    counter++
    const whole = cmac(keys.mac, Buffer.concat([chaining, segment.subarray(0, -MAC_OCTETS)]))
    if (!isSame(whole.subarray(0, MAC_OCTETS), segment.subarray(-MAC_OCTETS)))
      throw new Refusal(BPP_ERROR.scp03tSecurityError, `segment ${counter} has a MAC that is not right`)
    chaining = whole
    return segment.subarray(head, -MAC_OCTETS)
  }
  return {
    verified: checked,
    decrypted: (segment) => {
      const sealed = checked(segment)
      if (sealed.length === 0 || sealed.length % BLOCK !== 0) throw structure('is no whole number of blocks')
      return unpadded(decrypt(keys.encryption, counter, sealed))
    },
  }
}

/** AES-CMAC, 16 octets. RFC 4493 §2.4. */
export function cmac(key: Uint8Array, text: Uint8Array): Uint8Array {
  const first = doubled(lastBlock(key, new Uint8Array(BLOCK)))
  const padded = new Uint8Array(Math.max(1, Math.ceil(text.length / BLOCK)) * BLOCK)
  padded.set(text)
  const isWhole = text.length > 0 && text.length % BLOCK === 0
  if (!isWhole) padded[text.length] = 0x80
  const mask = isWhole ? first : doubled(first)
  const at = padded.length - BLOCK
  for (let i = 0; i < BLOCK; i++) padded[at + i] = (padded[at + i] ?? 0) ^ (mask[i] ?? 0)
  return lastBlock(key, padded)
}

function decrypt(key: Uint8Array, counter: number, sealed: Uint8Array): Uint8Array {
  const count = Buffer.alloc(BLOCK)
  count.writeUInt32BE(counter, BLOCK - 4)
  const cipher = createDecipheriv('aes-128-cbc', key, lastBlock(key, count)).setAutoPadding(false)
  return Uint8Array.from(Buffer.concat([cipher.update(sealed), cipher.final()]))
}

function unpadded(text: Uint8Array): Uint8Array {
  const end = text.findLastIndex((octet) => octet !== 0)
  if (text[end] !== 0x80 || text.length - end > BLOCK) throw structure('has no padding')
  return text.subarray(0, end)
}

function lastBlock(key: Uint8Array, text: Uint8Array): Uint8Array {
  const cipher = createCipheriv('aes-128-cbc', key, Buffer.alloc(BLOCK)).setAutoPadding(false)
  return Uint8Array.from(cipher.update(text).subarray(-BLOCK))
}

function doubled(block: Uint8Array): Uint8Array {
  const over = ((block[0] ?? 0) & 0x80) === 0 ? 0 : 0x87
  return block
    .map((octet, i) => ((octet << 1) & 0xff) | ((block[i + 1] ?? 0) >> 7) | 0)
    .map((octet, i) => (i === BLOCK - 1 ? octet ^ over : octet))
}

/** Octets of tag and length: one of tag, DER's shortest length. */
function headOctets(segment: Uint8Array): number {
  const first = segment[1] ?? 0
  return first < 0x80 ? 2 : 2 + (first & 0x7f)
}

function structure(what: string): Refusal {
  return new Refusal(BPP_ERROR.scp03tStructureError, `a segment ${what}`)
}
