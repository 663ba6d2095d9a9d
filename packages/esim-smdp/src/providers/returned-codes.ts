import { type Pause, validationFailed } from '@steeple/contracts'
import { delimiterOf, readableCsv, readRecord, wholeCells } from '@steeple/telecom'

/** What a file of activation codes says. */
type Column = 'iccid' | 'activation_code' | 'address' | 'matching_id' | 'confirmation_code'

/** Names of columns without case, spaces and signs, as providers, SM-DP+ and MDM use them. */
const NAMES: ReadonlyMap<string, Column> = new Map([
  ['iccid', 'iccid'],
  ['icc', 'iccid'],
  ['iccidnumber', 'iccid'],
  ['ssn', 'iccid'],
  ['integratedcircuitcardidentifier', 'iccid'],
  ['activationcode', 'activation_code'],
  ['esimactivationcode', 'activation_code'],
  ['ac', 'activation_code'],
  ['lpa', 'activation_code'],
  ['lpacode', 'activation_code'],
  ['lpastring', 'activation_code'],
  ['qr', 'activation_code'],
  ['qrcode', 'activation_code'],
  ['qrcodedata', 'activation_code'],
  ['qrcodetext', 'activation_code'],
  ['qrtext', 'activation_code'],
  ['smdp', 'address'],
  ['smdpaddress', 'address'],
  ['smdpfqdn', 'address'],
  ['smdpserver', 'address'],
  ['smdpserveraddress', 'address'],
  ['smdpplus', 'address'],
  ['smdpplusaddress', 'address'],
  ['smdpplusserveraddress', 'address'],
  ['smdpplusuri', 'address'],
  ['smdpuri', 'address'],
  ['rspserver', 'address'],
  ['matchingid', 'matching_id'],
  ['matchingidentifier', 'matching_id'],
  ['actoken', 'matching_id'],
  ['activationtoken', 'matching_id'],
  ['confirmationcode', 'confirmation_code'],
  ['cc', 'confirmation_code'],
])

/** A column by its header; undefined for one that is not read. */
function columnOf(name: string): Column | undefined {
  return NAMES.get(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
}

/** What an activation code holds. SGP.22 §4.1. */
export interface ActivationParts {
  /** As it is written; phones ignore its case. */
  readonly address: string
  /** May be empty: the eUICC is known by its EID. */
  readonly matchingId: string
  /** OID of the SM-DP+, dotted; undefined: none. */
  readonly owner: string | undefined
  readonly isConfirmed: boolean
}

/** One row that can be used. */
interface ReturnedCode extends ActivationParts {
  /** 18 to 20 digits. */
  readonly iccid: string
  readonly confirmationCode: string | undefined
}

/** A row with its line, from 1, and what was understood of it or what is wrong with it. No reason shows a secret. */
export type ReturnedRow = { readonly line: number } & (
  | { readonly code: ReturnedCode }
  | { readonly problem: string; readonly iccidEnd: string | undefined }
)

/** A host name, an address, and a port behind either. */
const HOST =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::[0-9]{1,5})?$/i
/** SGP.22 §4.1.1; some providers use an underscore or a full stop, which most phones take. */
const MATCHING_ID = /^[A-Za-z0-9._-]{0,128}$/
const OWNER = /^[0-9]+(?:\.[0-9]+)+$/
const CONFIRMATION_CODE = /^[\x21-\x7e]{1,64}$/
const ICCID = /^[0-9]{18,20}$/
/** A number as a spreadsheet shortens it. */
const SCIENTIFIC = /^[0-9]+(?:[.,][0-9]+)?E\+?[0-9]+$/i

/** The parts of an activation code, with or without `LPA:`. Gives what is wrong with it. SGP.22 §4.1. */
export function activationParts(text: string): ActivationParts | string {
  const [format = '', address = '', matchingId, owner = '', flag = '', ...more] = text
    .trim()
    .replace(/^lpa:/i, '')
    .split('$')
  if (format !== '1' || matchingId === undefined || more.length > 0)
    return 'the activation code is not of the form LPA:1$host$matching-id'
  if (!HOST.test(address)) return 'the activation code has no valid host name of an SM-DP+'
  if (!MATCHING_ID.test(matchingId)) return 'the matching id has other characters than letters, digits and -'
  if (owner !== '' && !OWNER.test(owner)) return 'the OID in the activation code is not one'
  if (flag !== '' && flag !== '1' && flag !== '0')
    return 'the last field of the activation code has to be 1, or missing'
  return { address, matchingId, owner: owner === '' ? undefined : owner, isConfirmed: flag === '1' }
}

/** Octets of a row: what is longer is no code. */
const MOST_OCTETS = 4_096

/**
 * The rows of a file of activation codes: CSV as spreadsheets and providers write it, with a header row. Each row comes out, understood or
 * with its problem. Throws `validation_failed` for a file whose rows cannot be told apart, or without the columns that are needed.
 */
export async function* returnedRows(octets: Buffer, pause: Pause): AsyncGenerator<ReturnedRow> {
  const bytes = await readableCsv(octets, pause)
  let header: Header | undefined
  let separator: string | undefined
  for (const place of wholeCells(bytes, MOST_OCTETS)) {
    await pause()
    if (place === undefined) continue
    const line = place.line ?? 0
    const text =
      place.to - place.from > MOST_OCTETS ? undefined : bytes.toString('utf8', place.from, place.to)
    const named = header === undefined ? SEPARATOR.exec(text ?? '')?.[1] : undefined
    separator ??= named
    if (named !== undefined) continue
    if (header === undefined) header = headerIn(line, text, separator)
    else yield* rowIn(line, text, header)
  }
  if (header === undefined) throw validationFailed('the file is empty; its first line must be a header row')
}

/** Excel's first line, which names the delimiter. */
const SEPARATOR = /^\s*"?sep=([^"\s]|\t)"?\s*$/i

interface Header {
  readonly columns: readonly (Column | undefined)[]
  readonly delimiter: string
}

/** Undefined for a line with nothing in it. `text`: undefined when it is too long. Throws `validation_failed`. */
function headerIn(line: number, text: string | undefined, separator: string | undefined): Header | undefined {
  if (text === undefined)
    throw validationFailed(`line ${line}: the header row is longer than ${MOST_OCTETS} octets`)
  const delimiter = separator ?? delimiterOf(text)
  const { cells } = readRecord(line, text, delimiter)
  return cells.every((cell) => cell.trim() === '') ? undefined : { columns: headerOf(line, cells), delimiter }
}

function* rowIn(line: number, text: string | undefined, header: Header): Generator<ReturnedRow> {
  if (text === undefined) {
    yield { line, problem: `the row is longer than ${MOST_OCTETS} octets`, iccidEnd: undefined }
    return
  }
  const { cells, problem } = readRecord(line, text, header.delimiter)
  if (problem !== undefined) yield { line, problem, iccidEnd: undefined }
  else if (cells.some((cell) => cell.trim() !== '')) yield { line, ...rowOf(header.columns, cells) }
}

function headerOf(line: number, cells: readonly string[]): readonly (Column | undefined)[] {
  const columns = cells.map(columnOf)
  const known = columns.filter((column) => column !== undefined)
  const twice = known.find((column, i) => known.indexOf(column) !== i)
  if (twice !== undefined)
    throw validationFailed(`line ${line}: two columns are read as ${twice}; remove one`)
  const lacks = [
    ...(known.includes('iccid') ? [] : ['iccid']),
    ...(known.includes('activation_code') || (known.includes('address') && known.includes('matching_id'))
      ? []
      : ['activation_code (or smdp_address and matching_id)']),
  ]
  if (lacks.length > 0)
    throw validationFailed(`line ${line}: the header row lacks ${lacks.join(' and ')}; name the columns so`)
  return columns
}

type Read =
  | { readonly code: ReturnedCode }
  | { readonly problem: string; readonly iccidEnd: string | undefined }

function rowOf(columns: readonly (Column | undefined)[], record: readonly string[]): Read {
  if (record.slice(columns.length).some((cell) => cell.trim() !== ''))
    return { problem: `has ${record.length} cells and the header row ${columns.length}`, iccidEnd: undefined }
  const cells: Partial<Record<Column, string>> = {}
  columns.forEach((column, i) => {
    if (column !== undefined) cells[column] = plain(record[i] ?? '')
  })
  const iccid = (cells.iccid ?? '').replaceAll(/[\s-]/g, '').replace(/f$/i, '')
  const iccidEnd = ICCID.test(iccid) ? iccid.slice(-4) : undefined
  if (SCIENTIFIC.test(iccid))
    return {
      problem: 'the ICCID was shortened by a spreadsheet (such as 8.98E+18); export the column as text',
      iccidEnd,
    }
  if (iccidEnd === undefined) return { problem: 'the ICCID has to have 18 to 20 digits', iccidEnd }
  const code = codeOf(cells)
  if (typeof code === 'string') return { problem: code, iccidEnd }
  const confirmationCode = cells.confirmation_code === '' ? undefined : cells.confirmation_code
  if (confirmationCode !== undefined && !CONFIRMATION_CODE.test(confirmationCode))
    return { problem: 'the confirmation code has to have 1 to 64 letters, digits or signs', iccidEnd }
  return {
    code: {
      ...code,
      iccid,
      confirmationCode,
      isConfirmed: code.isConfirmed || confirmationCode !== undefined,
    },
  }
}

/** What of it is a code; where both forms are there they have to agree. */
function codeOf({
  activation_code: code = '',
  address = '',
  matching_id: matchingId = '',
}: Partial<Record<Column, string>>): ActivationParts | string {
  if (code !== '') {
    const parts = activationParts(code)
    if (typeof parts === 'string') return parts
    if (address !== '' && hostOf(address).toLowerCase() !== parts.address.toLowerCase())
      return 'the activation code and the SM-DP+ address name two hosts'
    if (matchingId !== '' && matchingId !== parts.matchingId)
      return 'the activation code and the matching id differ'
    return parts
  }
  if (address === '') return 'the row has no activation code and no SM-DP+ address'
  return activationParts(`1$${hostOf(address)}$${matchingId}`)
}

/** Some write an address as a URL. */
function hostOf(address: string): string {
  return address.replace(/^https?:\/\//i, '').replace(/\/.*$/, '')
}

/** A cell without what spreadsheets put around a text. */
function plain(cell: string): string {
  return cell
    .trim()
    .replace(/^="(.*)"$/, '$1')
    .replace(/^'/, '')
    .trim()
}
