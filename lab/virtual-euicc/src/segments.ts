import { readOne, type Tlv, TlvError } from '@steeple/sgp22'

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
