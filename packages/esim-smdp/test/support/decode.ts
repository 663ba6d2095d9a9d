import { child, readAll, type Tlv } from '@steeple/sgp22'

/** What a profile says of its SIM, read without any of the code that wrote it. */
export interface Decoded {
  readonly iccids: readonly string[]
  readonly imsi: string
  readonly accessClass: number
  readonly spn: string
  readonly mncLength: number | undefined
  readonly operation: number | undefined
  readonly homeNetwork: string
  /** Algorithm, key and OPc of each akaParameter, hexadecimal. */
  readonly keys: readonly string[]
  readonly services: readonly string[]
  /** Codes by reference, hexadecimal. */
  readonly pins: ReadonlyMap<number, string>
  readonly puks: ReadonlyMap<number, string>
  readonly impi: string
  readonly impu: string
  readonly domain: string
  readonly domainKeys: readonly string[]
}

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')

/** A changed template can have a primitive object where there should be others in it. */
function isConstructed(one: Tlv | undefined): one is Tlv {
  return ((one?.raw[0] ?? 0) & 0x20) !== 0
}

function at(tlv: Tlv | undefined, ...tags: readonly number[]): Tlv | undefined {
  return tags.reduce<Tlv | undefined>((one, tag) => (isConstructed(one) ? child(one, tag) : undefined), tlv)
}

/** Octets that a file is filled with. */
function filled(file: Tlv | undefined): Uint8Array {
  return Buffer.concat((file?.children() ?? []).filter(({ tag }) => tag === 0x83).map(({ value }) => value))
}

/** TS 24.008 §10.5.1.4, the other way round. */
function imsiFrom(octets: Uint8Array): string {
  const halves = [...octets.subarray(1, 1 + (octets[0] ?? 0))].flatMap((octet) => [octet & 0xf, octet >> 4])
  const isOdd = ((halves[0] ?? 0) & 8) !== 0
  return halves.slice(1, isOdd ? undefined : -1).join('')
}

const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'

/** TS 102 221 annex A. */
export function textFrom(octets: Uint8Array): string {
  const [coding = 0xff, count = 0, third = 0, fourth = 0] = octets
  const one = (base: number) => (octet: number) =>
    octet < 0x80 ? (GSM[octet] ?? '') : String.fromCharCode(base + (octet & 0x7f))
  if (coding === 0x81) return [...octets.subarray(3, 3 + count)].map(one(third << 7)).join('')
  if (coding === 0x82) return [...octets.subarray(4, 4 + count)].map(one((third << 8) | fourth)).join('')
  if (coding !== 0x80)
    return [...octets]
      .filter((octet) => octet !== 0xff)
      .map(one(0))
      .join('')
  const units: number[] = []
  for (let i = 1; i + 1 < octets.length; i += 2) units.push(((octets[i] ?? 0) << 8) | (octets[i + 1] ?? 0))
  return String.fromCharCode(...units.filter((unit) => unit !== 0xffff))
}

function nameIn(file: Tlv | undefined): string {
  const octets = filled(file)
  return octets[0] === 0x80 ? Buffer.from(octets.subarray(2, 2 + (octets[1] ?? 0))).toString() : ''
}

function codesIn(lists: readonly (Tlv | undefined)[]): ReadonlyMap<number, string> {
  const entries = lists.flatMap((list) => list?.children() ?? [])
  return new Map(
    entries.map((entry) => [at(entry, 0x80)?.value.at(-1) ?? 0, hex(at(entry, 0x81)?.value ?? entry.raw)]),
  )
}

export function decoded(profile: Uint8Array): Decoded {
  const elements = readAll(profile)
  const all = (tag: number): readonly Tlv[] => elements.filter((one) => one.tag === tag)
  const [header] = all(0xa0)
  const [usim] = all(0xb3)
  const [isim] = all(0xb5)
  const ad = filled(at(usim, 0xb5))
  const spn = filled(at(usim, 0xad))
  return {
    iccids: [
      hex(at(header, 0x83)?.value ?? new Uint8Array(0)),
      Buffer.from(filled(at(all(0xb0)[0], 0xa4)).map((octet) => ((octet & 15) << 4) | (octet >> 4))).toString(
        'hex',
      ),
    ].map((digits) => digits.replace(/f+$/, '')),
    imsi: imsiFrom(filled(at(usim, 0xa3))),
    accessClass: Buffer.from(filled(at(usim, 0xb2))).readUInt16BE(),
    spn: textFrom(spn.subarray(1)),
    operation: ad[0],
    mncLength: ad[3],
    homeNetwork: hex(filled(at(all(0xb4)[0], 0xb1)).subarray(0, 5)),
    keys: all(0xa4).map((aka) =>
      [0x80, 0x82, 0x83].map((tag) => hex(at(aka, 0xa1, 0xa1, tag)?.value ?? aka.raw)).join(' '),
    ),
    services:
      at(header, 0xa5)
        ?.children()
        .map(({ raw }) => hex(raw)) ?? [],
    pins: codesIn(all(0xa2).map((one) => at(one, 0xa1, 0xa0))),
    puks: codesIn(all(0xa3).map((one) => at(one, 0xa1))),
    impi: nameIn(at(isim, 0xa3)),
    impu: nameIn(at(isim, 0xa4)),
    domain: nameIn(at(isim, 0xa5)),
    domainKeys: all(0xa6).flatMap((one) =>
      (at(one, 0xa2)?.children() ?? []).map((key) => hex(at(key, 0x30, 0x30, 0x86)?.value ?? key.raw)),
    ),
  }
}
