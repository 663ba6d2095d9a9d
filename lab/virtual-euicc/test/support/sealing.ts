import { createCipheriv } from 'node:crypto'
import { tlv } from '@steeple/sgp22'
import { type ChannelKeys, cmac } from '../../src/secure-channel.ts'

/** The sending end of a secure channel, for a server of the tests. SGP.22 §2.6.4.3. */
export function sealing(keys: ChannelKeys): { seal(tag: number, text: Uint8Array): Uint8Array } {
  let chaining = keys.chaining
  let counter = 0
  return {
    seal: (tag, text) => {
      counter++
      const body = tag === 0x88 ? text : encrypted(keys.encryption, counter, text)
      const open = tlv(tag, body, new Uint8Array(8)).subarray(0, -8)
      chaining = cmac(keys.mac, Buffer.concat([chaining, open]))
      return tlv(tag, body, chaining.subarray(0, 8))
    },
  }
}

function encrypted(key: Uint8Array, counter: number, text: Uint8Array): Uint8Array {
  const count = Buffer.alloc(16)
  count.writeUInt32BE(counter, 12)
  const first = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(count)
  const padded = Buffer.alloc((Math.floor(text.length / 16) + 1) * 16)
  padded.set(text)
  padded[text.length] = 0x80
  return Uint8Array.from(createCipheriv('aes-128-cbc', key, first).setAutoPadding(false).update(padded))
}
