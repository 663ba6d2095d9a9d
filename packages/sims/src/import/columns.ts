/** What a row of an import can say. */
export type Column =
  | 'imsi'
  | 'ki'
  | 'opc'
  | 'op'
  | 'iccid'
  | 'msisdn'
  | 'profile'
  | 'apns'
  | 'expires_at'
  | 'downlink_bps'
  | 'uplink_bps'
  | 'label'
  | 'adm1'
  /** ADM1 as the hexadecimal of its octets: pySim's `pin_adm_hex`. */
  | 'adm1_hex'
  /** OP or OPc as `op_type` says: srsEPC's file. */
  | 'op_or_opc'
  | 'op_type'
  /** The algorithm, of which Milenage alone is supported: srsEPC's file. */
  | 'auth'
  | 'pin1'
  | 'puk1'
  | 'pin2'
  | 'puk2'
  /** No column: what keeps the row from being read at all. */
  | 'problem'

/** One row as texts; what it lacks or leaves empty is not there. */
export type Cells = ReadonlyMap<Column, string>

/**
 * Names of columns without case, spaces and signs: this service's own and those in files of card vendors, pySim, Magma's NMS,
 * srsEPC, Ella Core and free5GC.
 */
const NAMES: ReadonlyMap<string, Column> = new Map([
  ['imsi', 'imsi'],
  ['supi', 'imsi'],
  ['ueid', 'imsi'],
  ['ki', 'ki'],
  ['k', 'ki'],
  ['key', 'ki'],
  ['authkey', 'ki'],
  ['authenticationkey', 'ki'],
  ['permanentkey', 'ki'],
  ['opc', 'opc'],
  ['opckey', 'opc'],
  ['authopc', 'opc'],
  ['op', 'op'],
  ['opkey', 'op'],
  ['opopc', 'op_or_opc'],
  ['optype', 'op_type'],
  ['auth', 'auth'],
  ['iccid', 'iccid'],
  ['icc', 'iccid'],
  ['msisdn', 'msisdn'],
  ['gpsi', 'msisdn'],
  ['phonenumber', 'msisdn'],
  ['profile', 'profile'],
  ['profilename', 'profile'],
  ['apns', 'apns'],
  ['apn', 'apns'],
  ['activeapns', 'apns'],
  ['dnn', 'apns'],
  ['dnns', 'apns'],
  ['expiresat', 'expires_at'],
  ['downlinkbps', 'downlink_bps'],
  ['ambrdownlinkbps', 'downlink_bps'],
  ['uplinkbps', 'uplink_bps'],
  ['ambruplinkbps', 'uplink_bps'],
  ['label', 'label'],
  ['name', 'label'],
  ['adm1', 'adm1'],
  ['adm', 'adm1'],
  ['pinadm', 'adm1'],
  ['pinadmhex', 'adm1_hex'],
  ['adm1hex', 'adm1_hex'],
  ['admhex', 'adm1_hex'],
  ['pin1', 'pin1'],
  ['pin', 'pin1'],
  ['puk1', 'puk1'],
  ['puk', 'puk1'],
  ['pin2', 'pin2'],
  ['puk2', 'puk2'],
])

/** The column behind a name of a header or a property; undefined for one that is not read. */
export function columnOf(name: string): Column | undefined {
  return NAMES.get(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
}

/** What keeps a header from being used; undefined when nothing. */
export function headerProblem(columns: readonly (Column | undefined)[]): string | undefined {
  const known = columns.filter((column) => column !== undefined)
  const twice = known.find((column, i) => known.indexOf(column) !== i)
  if (twice !== undefined) return `the column ${twice} is there twice`
  const missing: string[] = (['imsi', 'ki'] as const).filter((column) => !known.includes(column))
  if (!OPERATOR_KEYS.some((column) => known.includes(column))) missing.push('opc (or op)')
  if (missing.length === 0) return undefined
  return `the header row lacks ${missing.join(' and ')}; names that are read, in any case, with or without spaces and signs: ${READ_NAMES}`
}

const OPERATOR_KEYS: readonly Column[] = ['opc', 'op', 'op_or_opc']

const READ_NAMES = [...Map.groupBy(NAMES, ([, column]) => column)]
  .map(([column, names]) => `${column} (${names.map(([name]) => name).join(', ')})`)
  .join('; ')

/** A text out of a body that is told in a report, without what may be a key or an IMSI in the wrong place. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/[0-9a-f]{10,}/gi, '(not shown)')
}

/** The cells of a CSV record under its header. Those that it lacks at its end count as empty. */
export function cellsOf(
  columns: readonly (Column | undefined)[],
  record: readonly string[],
): Map<Column, string> {
  const cells = new Map<Column, string>()
  columns.forEach((column, i) => {
    const text = column === undefined ? '' : plainText(column, record[i] ?? '')
    if (column !== undefined && text !== '') cells.set(column, text)
  })
  return cells
}

/** Where signs and blanks only make a value readable for people. */
const SPACED: ReadonlySet<Column> = new Set([
  'imsi',
  'ki',
  'opc',
  'op',
  'op_or_opc',
  'iccid',
  'msisdn',
  'adm1_hex',
])

/** A cell without what other tools put around its value: `="…"`, `'…`, blanks and signs, prefixes of names. */
export function plainText(column: Column, cell: string): string {
  const text = cell
    .trim()
    .replace(/^="(.*)"$/, '$1')
    .replace(/^'/, '')
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
  if (!SPACED.has(column)) return text
  const bare = text.replaceAll(/[\s()\u00a0:-]/g, '')
  if (column === 'imsi') return bare.replace(/^imsi/i, '')
  if (column === 'msisdn') return bare.replace(/^msisdn/i, '')
  return bare.replace(/^0x/i, '')
}
