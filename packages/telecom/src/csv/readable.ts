import { isUtf8 } from 'node:buffer'
import { type Pause, validationFailed } from '@steeple/contracts'
import { csvLines } from './csv.ts'

/** First octets of files that spreadsheets save when they are not asked for CSV. */
const WORKBOOKS: readonly (readonly [octets: readonly number[], what: string])[] = [
  [[0x50, 0x4b, 0x03, 0x04], 'an Excel or OpenDocument workbook, or another ZIP archive'],
  [[0xd0, 0xcf, 0x11, 0xe0], 'an Excel workbook of 2003 and before'],
]
const LITTLE_ENDIAN = [0xff, 0xfe] as const
const BIG_ENDIAN = [0xfe, 0xff] as const
const HOW_TO_SAVE = 'In Excel save it as "CSV UTF-8 (Comma delimited)". Nothing was imported'

/**
 * A CSV, or another text, as UTF-8: UTF-16 with a byte order mark, Excel's "Unicode Text", is converted. Throws `validation_failed` for a
 * workbook and for any other encoding, naming the line: read as UTF-8 it would lose letters without a word.
 */
export async function readableCsv(bytes: Buffer, pause: Pause): Promise<Buffer> {
  const begins = (octets: readonly number[]): boolean => octets.every((octet, i) => bytes[i] === octet)
  const workbook = WORKBOOKS.find(([octets]) => begins(octets))
  if (workbook !== undefined) throw validationFailed(`the file is ${workbook[1]}, and no CSV. ${HOW_TO_SAVE}`)
  if (begins(LITTLE_ENDIAN)) return fromUtf16('utf-16le', bytes)
  if (begins(BIG_ENDIAN)) return fromUtf16('utf-16be', bytes)
  if (isUtf8(bytes)) return bytes
  if (bytes.includes(0)) throw validationFailed(`the file is binary, and no CSV. ${HOW_TO_SAVE}`)
  for (const place of csvLines(bytes)) {
    await pause()
    if (place === undefined || isUtf8(bytes.subarray(place.from, place.to))) continue
    throw validationFailed(
      `line ${place.line}: the CSV is not UTF-8; it seems to be in an encoding of Windows (Latin-1). ${HOW_TO_SAVE}`,
    )
  }
  throw validationFailed(`the CSV is not UTF-8. ${HOW_TO_SAVE}`)
}

function fromUtf16(encoding: string, bytes: Buffer): Buffer {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes))
  } catch (error) {
    throw validationFailed(`the CSV begins as UTF-16 and is cut or damaged. ${HOW_TO_SAVE}`, { cause: error })
  }
}
