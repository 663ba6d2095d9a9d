import { readOne, type Tlv, tlv } from '@steeple/sgp22'
import type { Fields } from './handset.ts'

/** Whole numbers below a bound. */
export type Draw = (below: number) => number

/** The body of a request that was changed somewhere: its JSON, its base64, its TLV or its octets. */
export function mutated(fields: Fields, draw: Draw): Uint8Array {
  const kind = draw(40)
  if (kind === 0) return changedOctets(Buffer.from(JSON.stringify(fields)), draw)
  if (kind === 1) return Buffer.from(JSON.stringify(fields).slice(0, draw(400)))
  const names = Object.keys(fields)
  const name = names[draw(names.length)] ?? ''
  if (kind === 2) return json({ ...fields, [name]: JUNK[draw(JUNK.length)] })
  if (kind === 3) return json(Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name)))
  if (kind === 4) return Buffer.from(`${' '.repeat(draw(30))}${JSON.stringify({ x: JUNK, ...fields })}`)
  return json({ ...fields, [name]: changedText(fields[name] ?? '', draw) })
}

const JUNK: readonly unknown[] = [
  ...[null, 0, -1, 1e300, true, [], {}, '', ' ', '=', 'AAAA', '____', 'MIIB', 'vzgA', '\u0000', '𝄞'],
  ...['A'.repeat(3_000), 'vzj/////', 'MIAAAA==', 'vzgEoAIwAA==', Buffer.alloc(600, 0x30).toString('base64')],
]

function json(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

/** Base64 of octets that were changed; a text that is none is changed as it is. */
function changedText(text: string, draw: Draw): string {
  const octets = Buffer.from(text, 'base64')
  if (octets.toString('base64') !== text || octets.length < 20)
    return Buffer.from(changedOctets(Buffer.from(text), draw)).toString('latin1')
  if (draw(2) === 0) return Buffer.from(changedOctets(octets, draw)).toString('base64')
  return Buffer.from(changedTree(octets, draw)).toString('base64')
}

function changedOctets(octets: Uint8Array, draw: Draw): Uint8Array {
  const copy = Uint8Array.from(octets)
  for (let times = draw(4); times >= 0; times -= 1) {
    const at = draw(copy.length || 1)
    copy[at] = draw(3) === 0 ? draw(256) : (copy[at] ?? 0) ^ (1 << draw(8))
  }
  const kind = draw(8)
  if (kind === 0) return copy.subarray(0, draw(copy.length || 1))
  if (kind === 1) return Buffer.concat([copy, Buffer.alloc(draw(40) + 1, draw(256))])
  return copy
}

/** An object in which one member, somewhere, is missing, twice there, in another place, or another one. */
function changedTree(octets: Uint8Array, draw: Draw): Uint8Array {
  try {
    return changedObject(readOne(octets), draw)
  } catch {
    return changedOctets(octets, draw)
  }
}

function changedObject(of: Tlv, draw: Draw): Uint8Array {
  const children = isConstructed(of) ? of.children() : []
  if (children.length === 0) return changedLeaf(of, draw)
  const at = draw(children.length)
  const raws = children.map(({ raw }) => raw)
  const one = children[at]
  if (one === undefined || draw(3) > 0) {
    if (one !== undefined) raws[at] = changedObject(one, draw)
    return tlv(of.tag, ...raws)
  }
  const kind = draw(5)
  if (kind === 0) raws.splice(at, 1)
  else if (kind === 1) raws.splice(at, 0, one.raw)
  else if (kind === 2) raws.reverse()
  else if (kind === 3) raws.push(tlv(TAGS[draw(TAGS.length)] ?? 0x80, Buffer.alloc(draw(20))))
  else raws[at] = tlv(TAGS[draw(TAGS.length)] ?? 0x80, one.value)
  return tlv(of.tag, ...raws)
}

const TAGS = [0x30, 0x80, 0x81, 0x84, 0xa0, 0xa1, 0x04, 0x5f37, 0x5f49, 0xbf22, 0xbf2f, 0xbf38, 0x7f8181]

function isConstructed({ tag }: Tlv): boolean {
  const first = tag > 0xffff ? tag >> 16 : tag > 0xff ? tag >> 8 : tag
  return (first & 0x20) !== 0
}

function changedLeaf(of: Tlv, draw: Draw): Uint8Array {
  const kind = draw(4)
  if (kind === 0) return tlv(of.tag)
  if (kind === 1) return tlv(of.tag, of.value, Buffer.alloc(draw(300) + 1, draw(256)))
  if (kind === 2) return tlv(TAGS[draw(TAGS.length)] ?? 0x80, of.value)
  return tlv(of.tag, changedOctets(of.value, draw))
}
