import { hash } from 'node:crypto'
import type { ImsiHash } from '@steeple/contracts'
import { imsiHash, parseApn, parseImsi } from '@steeple/telecom'
import { DamagedFile, type Element, elementAt, elementsIn, integerOf, textOf } from './cdr-file.ts'

/** TS 32.298 clause 5.2.2.14 (TimeStamp): YY MM DD hh mm ss in BCD, the sign in ASCII, hh mm in BCD. */
const OCTETS = 9
const MINUTE_MS = 60_000
const CENTURY = 2000

/**
 * When a record was opened, ms since the epoch; undefined when that cannot be told.
 *
 * free5GC writes its local time, and its offset from UTC right only where that is whole hours east: negative ones are
 * cut to a nibble each (5 hours west are `fb`), and minutes come divided by 10. One hour west and eleven are the same then;
 * the one where more people live is taken.
 */
export function openedMsFrom(bytes: Buffer): number | undefined {
  if (bytes.length !== OCTETS) return undefined
  const [year, month, day, hour, minute, second] = [...bytes.subarray(0, 6)].map(decimals)
  const offset = offsetMinutes(bytes)
  if (offset === undefined) return undefined
  const parts = [year, month, day, hour, minute, second]
  if (!parts.every((part) => part !== undefined)) return undefined
  const [years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts
  if (months < 1 || months > 12 || days < 1 || days > 31 || hours > 23 || minutes > 59 || seconds > 60)
    return undefined
  return Date.UTC(CENTURY + years, months - 1, days, hours, minutes, seconds) - offset * MINUTE_MS
}

/** Minutes as free5GC writes them: the seconds of a part of an hour, divided by 10 and cut to a nibble. */
const PARTS: Readonly<Record<string, ReadonlyMap<number, number>>> = {
  '+': new Map([
    [0x00, 0],
    [0x30, 30],
    [0x40, 30],
    [0x45, 45],
    [0xe0, 45],
  ]),
  '-': new Map([
    [0x00, 0],
    [0x30, 30],
    [0xc0, 30],
  ]),
}
/** The nibble of ten hours west; those of one to nine are the two's complement. */
const TEN_WEST = 0xf0
const NINE_WEST = 0xf7

function offsetMinutes(bytes: Buffer): number | undefined {
  const sign = String.fromCharCode(bytes[6] ?? 0)
  const minutes = PARTS[sign]?.get(bytes[8] ?? 0)
  if (minutes === undefined) return undefined
  const written = bytes[7] ?? 0
  const isCut = sign === '-' && written >= TEN_WEST
  const west = written >= NINE_WEST ? 0x100 - written : 10
  const hours = isCut ? west : decimals(written)
  if (hours === undefined || hours > 14) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}

function decimals(octet: number): number | undefined {
  const [tens, ones] = [octet >> 4, octet & 0x0f]
  return tens > 9 || ones > 9 ? undefined : tens * 10 + ones
}

/** One report of a session's use in a record: what one rating group used since the report before. */
interface Report {
  readonly ratingGroup: number
  readonly upBytes: number
  readonly downBytes: number
  /** Where it ends in `ChargingRecord.reports`. */
  readonly end: number
}

/** A charging record of the CHF (TS 32.298 clause 5.1.5), without the identity of its subscriber. */
export interface ChargingRecord {
  readonly imsi: ImsiHash
  readonly apn: string | undefined
  /** The instance of the CHF: a digest of its id. */
  readonly writer: string
  /** Its number among all that this run of the CHF has opened. Fragments of one record share it. */
  readonly number: number
  /** When it was opened, as it is written: with its number this tells it from every other of that instance. */
  readonly opened: string
  readonly openedMs: number | undefined
  readonly used: readonly Report[]
  /** The bytes of all reports: a record only grows at its end, so what was read before must be what these begin with. */
  readonly reports: Buffer
}

const TAG = {
  record: 0xbf8148,
  writer: 0x81,
  subscriber: 0xa2,
  reports: 0xa5,
  opened: 0x86,
  number: 0x8b,
  session: 0xad,
  dnn: 0x8d,
  idKind: 0x80,
  idText: 0x81,
  sequence: 0x30,
  ratingGroup: 0x80,
  containers: 0xa1,
  up: 0x85,
  down: 0x86,
} as const

/** SubscriptionIDType (TS 32.298): the others are no subscribers of this network. */
const IS_IMSI = 1

/** Whether a CHF up to 1.2.2 (release 4.2.1) has named the file: 1.2.3 names it otherwise, and writes each report into its own record. */
export function isOldName(name: string): boolean {
  return !name.startsWith('chf-')
}

/** Whose file this may be, told by its name: both that a CHF gives (release 4.2.2 changed it). */
function isNameOf(name: string, supi: string): boolean {
  return name === `chf-${hash('sha256', supi)}.cdr` || name === `${supi}.cdr`
}

/**
 * The record in `bytes`, the body of a record of the file `name`; undefined for one that is of no IMSI. Throws
 * `DamagedFile`, also for a record of somebody else than the name says.
 */
export function parseRecord(bytes: Buffer, name: string): ChargingRecord | undefined {
  const whole = elementAt(bytes, 0, bytes.length)
  if (whole.tag !== TAG.record || whole.to !== bytes.length)
    throw new DamagedFile('a record is none of a CHF')
  const fields = new Map<number, Element>()
  for (const element of elementsIn(bytes, whole)) fields.set(element.tag, element)
  const field = (tag: number): Element => {
    const found = fields.get(tag)
    if (found === undefined) throw new DamagedFile('a record lacks what each has')
    return found
  }
  const imsi = subscriberOf(bytes, field(TAG.subscriber), name)
  if (imsi === undefined) return undefined
  const opened = slice(bytes, field(TAG.opened))
  const listed = fields.get(TAG.reports)
  const session = fields.get(TAG.session)
  return {
    imsi,
    apn: session === undefined ? undefined : dnnOf(bytes, session),
    writer: hash('sha256', textOf(bytes, field(TAG.writer)), 'base64url').slice(0, 12),
    number: integerOf(bytes, field(TAG.number)),
    opened: opened.toString('base64url'),
    openedMs: openedMsFrom(opened),
    used: listed === undefined ? [] : reportsIn(bytes, listed),
    reports: listed === undefined ? Buffer.alloc(0) : slice(bytes, listed),
  }
}

/** The raw IMSI is hashed here and goes no further. */
function subscriberOf(bytes: Buffer, element: Element, name: string): ImsiHash | undefined {
  let kind: number | undefined
  let text = ''
  for (const part of elementsIn(bytes, element)) {
    if (part.tag === TAG.idKind) kind = integerOf(bytes, part)
    if (part.tag === TAG.idText) text = textOf(bytes, part)
  }
  if (kind !== IS_IMSI) return undefined
  const imsi = parseImsi(text)
  if (imsi === undefined || !isNameOf(name, `imsi-${imsi}`))
    throw new DamagedFile('a record is not of the subscriber of its file')
  return imsiHash(imsi)
}

function dnnOf(bytes: Buffer, session: Element): string | undefined {
  for (const part of elementsIn(bytes, session))
    if (part.tag === TAG.dnn) return parseApn(textOf(bytes, part)) ?? undefined
  return undefined
}

function reportsIn(bytes: Buffer, list: Element): readonly Report[] {
  const reports: Report[] = []
  for (const entry of elementsIn(bytes, list)) {
    if (entry.tag !== TAG.sequence) throw new DamagedFile('a report is none')
    let ratingGroup = 0
    let sum = { upBytes: 0, downBytes: 0 }
    for (const part of elementsIn(bytes, entry)) {
      if (part.tag === TAG.ratingGroup) ratingGroup = integerOf(bytes, part)
      else if (part.tag === TAG.containers) sum = volumesIn(bytes, part)
    }
    reports.push({ ratingGroup, ...sum, end: entry.to - list.from })
  }
  return reports
}

function volumesIn(bytes: Buffer, containers: Element): Pick<Report, 'upBytes' | 'downBytes'> {
  let [upBytes, downBytes] = [0, 0]
  for (const container of elementsIn(bytes, containers))
    for (const volume of elementsIn(bytes, container)) {
      if (volume.tag === TAG.up) upBytes += octetsOf(bytes, volume)
      else if (volume.tag === TAG.down) downBytes += octetsOf(bytes, volume)
    }
  return { upBytes, downBytes }
}

const WRAP = 2 ** 32
/** More than any session moves between two reports; a sum of as many as a record holds is exact below it. */
const MOST_OCTETS = 2 ** 36

/** The SMF keeps a volume in 32 bits with a sign: from 2 GiB on it is written negative. */
function octetsOf(bytes: Buffer, element: Element): number {
  const written = integerOf(bytes, element)
  const octets = written < 0 ? written + WRAP : written
  if (octets < 0 || octets > MOST_OCTETS) throw new DamagedFile('a volume is none')
  return octets
}

function slice(bytes: Buffer, { from, to }: Element): Buffer {
  return bytes.subarray(from, to)
}
