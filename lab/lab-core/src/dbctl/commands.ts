import { inspect } from 'node:util'
import { type Doc, docOf, docsOf, int32, int64, objectId, type Value } from '../store/ejson.ts'
import type { Subscribers } from '../store/subscribers.ts'
import { HELP } from './help.ts'

/** Draws the 24 hex digits of an ObjectId. */
type DrawId = () => string

/** What `add` and its variants are told. */
interface NewSubscriber {
  readonly imsi: string
  readonly key: string
  readonly opc: string
  readonly apns: readonly string[]
  readonly ip?: string
  readonly sst?: number
  readonly sd?: string
}

/** The document that open5gs-dbctl 0.10.3 inserts, field by field and in its order. */
function freshSubscriber(id: string, one: NewSubscriber, draw: DrawId): Doc {
  const { imsi, key, opc, ip, sst = 1, sd } = one
  const sessions = one.apns.map((apn) => addedSession(apn, ip, draw))
  return {
    _id: objectId(id),
    schema_version: int32(1),
    imsi,
    msisdn: [],
    imeisv: [],
    mme_host: [],
    mm_realm: [],
    purge_flag: [],
    slice: [
      {
        sst: int32(sst),
        ...(sd === undefined ? {} : { sd }),
        default_indicator: true,
        session: sessions,
        _id: objectId(draw()),
      },
    ],
    security: { k: key, op: null, opc, amf: '8000' },
    ambr: ambrOf(1_000_000_000, 0, 1_000_000_000, 0),
    access_restriction_data: int32(32),
    network_access_mode: int32(0),
    subscriber_status: int32(0),
    operator_determined_barring: int32(0),
    subscribed_rau_tau_timer: int32(12),
    __v: int32(0),
  }
}

/** The session that `update_apn` and `update_slice` push, which differs from that of `add`. */
function pushedSession(apn: string, draw: DrawId): Doc {
  return {
    name: apn,
    type: int32(3),
    _id: objectId(draw()),
    pcc_rule: [],
    ambr: { uplink: rate(1, 3), downlink: rate(1, 3) },
    qos: qosOf(1),
  }
}

/** The slice that `update_slice` pushes. */
function pushedSlice(apn: string, sst: number, sd: string, draw: DrawId): Doc {
  return {
    sst: int32(sst),
    sd,
    default_indicator: false,
    _id: objectId(draw()),
    session: [pushedSession(apn, draw)],
  }
}

/** A value and unit each way; unit 0 bit/s, 1 kbit/s, 2 Mbit/s, 3 Gbit/s, 4 Tbit/s. */
function ambrOf(down: number, downUnit: number, up: number, upUnit: number): Doc {
  return { downlink: rate(down, downUnit), uplink: rate(up, upUnit) }
}

function addedSession(apn: string, ip: string | undefined, draw: DrawId): Doc {
  const ue: Readonly<Record<string, Value>> = ip === undefined ? {} : { ue: { ipv4: ip } }
  return {
    name: apn,
    type: int32(3),
    qos: qosOf(2),
    ambr: ambrOf(1_000_000_000, 0, 1_000_000_000, 0),
    ...ue,
    pcc_rule: [],
    _id: objectId(draw()),
  }
}

function qosOf(vulnerability: number): Doc {
  const arp = {
    priority_level: int32(8),
    pre_emption_capability: int32(1),
    pre_emption_vulnerability: int32(vulnerability),
  }
  return { index: int32(9), arp }
}

function rate(value: number, unit: number): Doc {
  return { value: int32(value), unit: int32(unit) }
}

/** How many documents mongosh shows at once. */
const SHOWN_MAX = 20

/** What mongosh prints for the documents of a `find()`. */
function shownDocs(docs: readonly Doc[]): string {
  if (docs.length === 0) return '\n'
  const more = docs.length > SHOWN_MAX ? 'Type "it" for more\n' : ''
  return `${shown(docs.slice(0, SHOWN_MAX).map(plain))}\n${more}`
}

/** What mongosh prints for the result of a change. */
function shownUpdate(matched: number, modified: number): string {
  const result = { insertedId: null, matchedCount: matched, modifiedCount: modified, upsertedCount: 0 }
  return `${shown({ acknowledged: true, ...result })}\n`
}

/** What mongosh prints for the result of an insertion, as recorded. */
function shownInsert(id: string): string {
  return `{\n  acknowledged: true,\n  insertedId: ObjectId('${id}')\n}\n`
}

/** What mongosh prints for the result of a removal. */
function shownDelete(count: number): string {
  return `${shown({ acknowledged: true, deletedCount: count })}\n`
}

/** The error of a second document with the same IMSI. */
function shownDuplicate(imsi: string): string {
  return `MongoServerError: E11000 duplicate key error collection: open5gs.subscribers index: imsi_1 dup key: { imsi: "${imsi}" }\n`
}

function shown(value: unknown): string {
  return inspect(value, { depth: null, breakLength: 76, maxArrayLength: null, maxStringLength: null })
}

/** A text that `inspect` prints without quotes. */
class Literal {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  [inspect.custom](): string {
    return this.#text
  }
}

function plain(value: Value): unknown {
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map(plain)
  const { $numberInt, $numberLong, $oid } = value
  if (typeof $numberInt === 'string') return Number($numberInt)
  if (typeof $numberLong === 'string') return new Literal(`Long('${$numberLong}')`)
  if (typeof $oid === 'string') return new Literal(`ObjectId('${$oid}')`)
  return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, plain(item)]))
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

/** What a command printed, and the exit code, which says little: 0 even when nothing was found. */
export interface Ran {
  readonly code: number
  readonly output: string
}

/** What commands need of a collection; that of a database answers later. */
export interface DbctlStore extends Pick<Subscribers, 'insert' | 'update' | 'remove' | 'removeAll'> {
  find(imsi: string): Doc | undefined | Promise<Doc | undefined>
  list(): readonly Doc[] | Promise<readonly Doc[]>
}

interface Place {
  readonly subscribers: DbctlStore
  readonly draw: DrawId
  /** Commands that this tool does not have; `BEYOND_STOCK` for the stock one. */
  readonly without?: readonly string[]
}

/** The commands that the stock tool does not have. */
export const BEYOND_STOCK: readonly string[] = [
  'block',
  'unblock',
  'set_sqn',
  'cancel_location',
  'show',
  'batch',
]

type Command = (words: readonly string[], place: Place) => Promise<string>

const IMSI = /^[0-9]{1,15}$/

/** The command of an `open5gs-dbctl`, `words` without the flags. */
export async function runDbctl(words: readonly string[], place: Place): Promise<Ran> {
  const [name = 'help', ...rest] = words
  const { without: absent = [] } = place
  const found = Object.hasOwn(COMMANDS, name) && !absent.includes(name) ? COMMANDS[name] : undefined
  if (found === undefined) return { code: 1, output: helpWithout(absent) }
  const counts = found.counts
  if (!counts.includes(rest.length)) return { code: 1, output: wrongCount(name, found.format) }
  try {
    return { code: 0, output: await found.run(rest, place) }
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    return { code: 1, output: `${error.message}\n` }
  }
}

class RefusedError extends Error {}

interface Entry {
  readonly counts: readonly number[]
  readonly format: string
  readonly run: Command
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  add: { counts: [3, 4], format: 'imsi key opc', run: (words, place) => add(words, ['internet'], place) },
  addT1: {
    counts: [3, 4],
    format: 'imsi key opc',
    run: (words, place) => add(words, ['internet', 'internet1', 'internet2'], place),
  },
  add_ue_with_apn: {
    counts: [4],
    format: 'imsi key opc apn',
    run: ([imsi = '', key = '', opc = '', apn = ''], place) => insert({ imsi, key, opc, apns: [apn] }, place),
  },
  add_ue_with_slice: {
    counts: [6],
    format: 'imsi key opc apn sst sd',
    run: ([imsi = '', key = '', opc = '', apn = '', sst = '', sd = ''], place) =>
      insert({ imsi, key, opc, apns: [apn], sst: whole(sst), sd }, place),
  },
  remove: {
    counts: [1],
    format: 'imsi',
    run: async ([imsi = ''], { subscribers }) => shownDelete(await subscribers.remove(imsi)),
  },
  reset: {
    counts: [0],
    format: '',
    run: async (_words, { subscribers }) => shownDelete(await subscribers.removeAll()),
  },
  static_ip: {
    counts: [2],
    format: 'imsi ip4',
    run: ([imsi = '', ip = ''], place) =>
      changeFirstSession(imsi, place, (old) => ({ ...old, ue: { ...docOf(old.ue), ipv4: ip } })),
  },
  static_ip6: {
    counts: [2],
    format: 'imsi ip6',
    run: ([imsi = '', ip = ''], place) =>
      changeFirstSession(imsi, place, (old) => ({ ...old, ue: { ...docOf(old.ue), ipv6: ip } })),
  },
  type: {
    counts: [2],
    format: 'imsi type',
    run: ([imsi = '', type = ''], place) =>
      changeFirstSession(imsi, place, (old) => ({ ...old, type: int32(whole(type)) })),
  },
  update_apn: {
    counts: [3],
    format: 'imsi apn num_slice',
    run: ([imsi = '', apn = '', number = ''], place) =>
      change(imsi, place, (old) =>
        withSlice(old, whole(number), (slice) => ({
          ...slice,
          session: [...docsOf(slice.session), pushedSession(apn, place.draw)],
        })),
      ),
  },
  update_slice: {
    counts: [4],
    format: 'imsi apn sst sd',
    run: ([imsi = '', apn = '', sst = '', sd = ''], place) =>
      change(imsi, place, (old) => ({
        ...old,
        slice: [...docsOf(old.slice), pushedSlice(apn, whole(sst), sd, place.draw)],
      })),
  },
  ambr_speed: {
    counts: [5],
    format: 'imsi dl_value dl_unit ul_value ul_unit',
    run: ([imsi = '', ...rates], place) => {
      const [down = 0, downUnit = 0, up = 0, upUnit = 0] = rates.map(whole)
      const ambr = ambrOf(down, downUnit, up, upUnit)
      return change(imsi, place, (old) =>
        withFirstSession({ ...old, ambr }, (session) => ({ ...session, ambr })),
      )
    },
  },
  subscriber_status: {
    counts: [3],
    format: 'imsi subscriber_status_val operator_determined_barring',
    run: ([imsi = '', status = '', barring = ''], place) =>
      change(imsi, place, (old) => ({
        ...old,
        subscriber_status: int32(whole(status)),
        operator_determined_barring: int32(whole(barring)),
      })),
  },
  lbo_roaming_allowed: {
    counts: [2],
    format: 'imsi true|false',
    run: ([imsi = '', isAllowed = ''], place) =>
      changeFirstSession(imsi, place, (old) => ({ ...old, lbo_roaming_allowed: isAllowed === 'true' })),
  },
  showall: {
    counts: [0],
    format: '',
    run: async (_words, { subscribers }) => shownDocs(await subscribers.list()),
  },
  showpretty: {
    counts: [0],
    format: '',
    run: async (_words, { subscribers }) => shownDocs(await subscribers.list()),
  },
  showfiltered: {
    counts: [0],
    format: '',
    run: async (_words, { subscribers }) => shownDocs((await subscribers.list()).map(filtered)),
  },
  block: {
    counts: [1],
    format: 'imsi',
    run: ([imsi = ''], place) =>
      cancel(imsi, place, (old) => ({
        ...old,
        suspended_slice: old.suspended_slice ?? docsOf(old.slice),
        slice: [],
      })),
  },
  unblock: {
    counts: [1],
    format: 'imsi',
    run: ([imsi = ''], place) =>
      change(imsi, place, (old) => ({
        ...without(old, 'suspended_slice', 'request_cancel_location'),
        slice: old.suspended_slice ?? docsOf(old.slice),
      })),
  },
  set_sqn: {
    counts: [2],
    format: 'imsi sqn',
    run: ([imsi = '', sqn = ''], place) =>
      change(imsi, place, (old) => {
        const security = docOf(old.security)
        if (!/^[0-9]{1,15}$/.test(sqn) || security?.sqn !== undefined) return old
        return { ...old, security: { ...security, sqn: int64(BigInt(sqn)) } }
      }),
  },
  cancel_location: {
    counts: [1],
    format: 'imsi',
    run: ([imsi = ''], place) => cancel(imsi, place, (old) => old),
  },
  show: {
    counts: [1],
    format: 'imsi',
    run: async ([imsi = ''], { subscribers }) => {
      const doc = await subscribers.find(imsi)
      return shownDocs(doc === undefined ? [] : [withoutKeys(doc)])
    },
  },
}

function add(words: readonly string[], apns: readonly string[], place: Place): Promise<string> {
  const [imsi = '', ...rest] = words
  const [opc = '', key = '', ip] = rest.toReversed()
  return insert({ imsi, key, opc, apns, ...(ip === undefined ? {} : { ip }) }, place)
}

async function insert(one: NewSubscriber, { subscribers, draw }: Place): Promise<string> {
  if (!IMSI.test(one.imsi)) throw new RefusedError('SyntaxError: an IMSI must be digits')
  const id = draw()
  const isAdded = (await subscribers.insert(one.imsi, freshSubscriber(id, one, draw))) === 'added'
  return isAdded ? shownInsert(id) : shownDuplicate(one.imsi)
}

async function change(imsi: string, { subscribers }: Place, edit: (doc: Doc) => Doc): Promise<string> {
  const { matched, modified } = await subscribers.update(imsi, edit)
  return shownUpdate(matched, modified)
}

/** The HSS acts on a cancel request only when the field changes: one that is set already must go first. */
async function cancel(imsi: string, place: Place, edit: (doc: Doc) => Doc): Promise<string> {
  const cleared = place.subscribers.update(imsi, (old) => without(old, 'request_cancel_location'))
  const [shown] = await Promise.all([
    change(imsi, place, (old) => ({ ...edit(old), request_cancel_location: true })),
    cleared,
  ])
  return shown
}

function changeFirstSession(imsi: string, place: Place, edit: (session: Doc) => Doc): Promise<string> {
  return change(imsi, place, (doc) => withFirstSession(doc, edit))
}

function withFirstSession(doc: Doc, edit: (session: Doc) => Doc): Doc {
  return withSlice(doc, 0, (slice) => ({
    ...slice,
    session: docsOf(slice.session).map((session, i) => (i === 0 ? edit(session) : session)),
  }))
}

function withSlice(doc: Doc, number: number, edit: (slice: Doc) => Doc): Doc {
  return { ...doc, slice: docsOf(doc.slice).map((slice, i) => (i === number ? edit(slice) : slice)) }
}

function without(doc: Doc, ...fields: readonly string[]): Doc {
  return Object.fromEntries(Object.entries(doc).filter(([field]) => !fields.includes(field)))
}

function withoutKeys(doc: Doc): Doc {
  const { amf, sqn } = docOf(doc.security) ?? {}
  const security: Readonly<Record<string, Value>> = {
    ...(amf === undefined ? {} : { amf }),
    ...(sqn === undefined ? {} : { sqn }),
  }
  return { ...doc, security }
}

function filtered(doc: Doc): Doc {
  const { k = null, opc = null } = docOf(doc.security) ?? {}
  const slice = docsOf(doc.slice).map(({ session }) => ({
    session: docsOf(session).map(({ name = null }) => ({ name })),
  }))
  return { imsi: doc.imsi ?? null, slice, security: { k, opc } }
}

function whole(text: string): number {
  if (!/^-?[0-9]{1,10}$/.test(text) || Math.abs(Number(text)) > 2 ** 31 - 1)
    throw new RefusedError('MongoshInvalidInputError: [COMMON-10001] not a 32-bit integer')
  return Number(text)
}

function helpWithout(absent: readonly string[]): string {
  const isAbsent = (line: string): boolean => absent.some((name) => new RegExp(`^ +${name}[ :]`).test(line))
  return HELP.split('\n')
    .filter((line) => !isAbsent(line))
    .join('\n')
}

function wrongCount(name: string, format: string): string {
  return `open5gs-dbctl: incorrect number of args, format is "open5gs-dbctl ${name} ${format}"\n`
}
