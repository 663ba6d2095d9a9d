import { child, readOne, signP1363, type Tlv, tlv } from '@steeple/sgp22'
import { base64, type Fields, octetsIn } from './handset.ts'
import type { World } from './world.ts'

/**
 * The notification of an installation as an eUICC sends it beside the result when a profile's metadata asks for one (ours asks for
 * none, other servers' do), with the next number. SGP.22 §2.14.
 */
export function installNotice(all: World, number: number, result: Fields): Fields {
  const data = child(readOne(octetsIn(result, 'pendingNotification')), 0xbf27)
  const told = data && child(data, 0xbf2f)
  const part = (tag: number): Tlv => {
    const found = told && child(told, tag)
    if (found === undefined) throw new Error('the result has no notification metadata')
    return found
  }
  const sequence = (part(0x80).value.at(-1) ?? 0) + 1
  const metadata = tlv(
    0xbf2f,
    tlv(0x80, Uint8Array.of(sequence)),
    tlv(0x81, Uint8Array.of(0x07, 0x80)),
    part(0x0c).raw,
    part(0x5a).raw,
  )
  const { euiccDer, eumDer, euiccKey } = all.chain(number)
  const signed = tlv(0x30, metadata, signP1363(euiccKey, metadata), euiccDer, eumDer)
  return { pendingNotification: base64(signed) }
}
