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
