import { isRecord } from '@steeple/contracts'
import { type Cells, type Column, columnOf, plainText } from './columns.ts'

/** Properties of other cores that a SIM here does not have: their SQN is not taken over, a phone resynchronises once. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  '_id',
  '__v',
  'schema_version',
  'sequenceNumber',
  'sequence_number',
  'sqn',
  'amf',
  'algo',
  'policy_name',
  'policyName',
  'ef_suci_calc_info',
  // The AuC of PyHSS, beside keys and card.
  ...['auc_id', 'batch_name', 'sim_vendor', 'esim', 'lpa', 'kid', 'psk', 'des', 'last_modified'],
  ...['misc1', 'misc2', 'misc3', 'misc4'],
])

/**
 * The cells of a JSON row: this service's own properties, a subscriber of Open5GS (`mongoexport`), of free5GC's web console,
 * of Ella Core or of PyHSS's AuC. A list counts as its texts with `;` between. A property that nothing is known of is a mistake: `problem`
 * names it.
 */
export function cellsFromJson(row: unknown): Cells {
  if (!isRecord(row)) return new Map([['problem', 'the row is not an object']])
  return isRecord(row.security) ? ofOpen5gs(row) : isFree5gc(row) ? ofFree5gc(row) : ofOwn(row)
}

type Json = Readonly<Record<string, unknown>>

function ofOwn(row: Json): Cells {
  const cells = new Map<Column, string>()
  for (const [name, value] of Object.entries(row)) {
    const column = columnOf(name)
    if (column === undefined) {
      if (PASSED_OVER.has(name)) continue
      return cells.set('problem', `unknown property ${shown(name)}`)
    }
    const isRate = column === 'downlink_bps' || column === 'uplink_bps'
    const text = isRate && typeof value === 'number' ? `${value}` : textOf(value)
    if (text === undefined) return cells.set('problem', `${column} must be a text`)
    put(cells, column, text)
  }
  return cells
}

/** A document of the collection `subscribers`: Open5GS lib/dbi/subscription.c, as mongoexport writes it. */
function ofOpen5gs(row: Json): Cells {
  const security = objectOf(row.security)
  const sessions = listOf(row.slice).flatMap((slice) => listOf(objectOf(slice).session))
  return cellsOf([
    ['imsi', row.imsi],
    ['ki', security.k],
    ['opc', security.opc],
    ['op', security.opc == null ? security.op : undefined],
    ['msisdn', listOf(row.msisdn)[0]],
    ['apns', [...new Set(sessions.map((session) => objectOf(session).name))]],
    ['downlink_bps', open5gsRate(objectOf(row.ambr).downlink)],
    ['uplink_bps', open5gsRate(objectOf(row.ambr).uplink)],
  ])
}

function isFree5gc(row: Json): boolean {
  return Object.keys(row).some((name) => name.toLowerCase() === 'authenticationsubscription')
}

/** A subscriber of free5GC's web console (`GET /api/subscriber/{ueId}/{plmn}`), of versions before and after 4.0. */
function ofFree5gc(row: Json): Cells {
  const member = (name: string): Json =>
    objectOf(Object.entries(row).find(([key]) => key.toLowerCase() === name)?.[1])
  const auth = member('authenticationsubscription')
  const milenage = objectOf(auth.milenage)
  const opc = auth.encOpcKey ?? objectOf(auth.opc).opcValue
  const configurations = listOf(row.SessionManagementSubscriptionData).flatMap((slice) =>
    Object.keys(objectOf(objectOf(slice).dnnConfigurations)),
  )
  const ambr = objectOf(member('accessandmobilitysubscriptiondata').subscribedUeAmbr)
  return cellsOf([
    ['imsi', row.ueId],
    ['ki', auth.encPermanentKey ?? objectOf(auth.permanentKey).permanentKeyValue],
    ['opc', opc],
    ['op', opc === undefined || opc === '' ? objectOf(milenage.op).opValue : undefined],
    ['msisdn', listOf(member('accessandmobilitysubscriptiondata').gpsis)[0]],
    ['apns', [...new Set(configurations)]],
    ['downlink_bps', free5gcRate(ambr.downlink)],
    ['uplink_bps', free5gcRate(ambr.uplink)],
  ])
}

/** Bit/s of value · 1000^unit; undefined where it cannot be read. */
function open5gsRate(rate: unknown): string | undefined {
  const [value, unit] = [numberOf(objectOf(rate).value), numberOf(objectOf(rate).unit ?? 0)]
  return value > 0 && unit >= 0 ? `${value * 1000 ** unit}` : undefined
}

/** A number as JSON or as mongoexport writes it in canonical form. */
function numberOf(value: unknown): number {
  const plain = isRecord(value) ? (value.$numberInt ?? value.$numberLong) : value
  return typeof plain === 'number' || typeof plain === 'string' ? Number(plain) : Number.NaN
}

const FREE5GC_UNITS: readonly string[] = ['bps', 'Kbps', 'Mbps', 'Gbps', 'Tbps']

/** Bit/s of a BitRate, TS 29.571 §5.5.2. */
function free5gcRate(rate: unknown): string | undefined {
  const [, value = '', unit = ''] =
    /^(\d+(?:\.\d+)?) ([KMGT]?bps)$/.exec(typeof rate === 'string' ? rate : '') ?? []
  const power = FREE5GC_UNITS.indexOf(unit)
  return power < 0 ? undefined : `${Math.round(Number(value) * 1000 ** power)}`
}

function cellsOf(values: readonly (readonly [Column, unknown])[]): Cells {
  const cells = new Map<Column, string>()
  for (const [column, value] of values) put(cells, column, textOf(value) ?? '')
  return cells
}

function put(cells: Map<Column, string>, column: Column, text: string): void {
  const plain = plainText(column, text)
  if (plain !== '') cells.set(column, plain)
}

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(';')
  return typeof value === 'string' ? value : undefined
}

function objectOf(value: unknown): Json {
  return isRecord(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

/** A name out of a request; not one that could be a key or an IMSI in the wrong place. */
function shown(name: string): string {
  return /^[A-Za-z_][\w -]{0,39}$/.test(name) && !/[0-9a-fA-F]{10}/.test(name) ? `"${name}"` : '(not shown)'
}
