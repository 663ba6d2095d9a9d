import {
  type Imsi,
  isRecord,
  type SubscriberFound,
  type SubscriberSource,
  validationFailed,
} from '@steeple/contracts'
import { Double, EJSON } from 'bson'
import { foundOf as foundInFree5gc } from '../free5gc/found.ts'
import { COLLECTIONS, numberOf, readUeId } from '../free5gc/names.ts'
import type { Held } from '../free5gc/read.ts'
import type { Doc } from '../links/document-link.ts'
import { foundOf as foundInOpen5gs } from '../open5gs/found.ts'

/** A JSON value, and the line on which it begins. */
interface Piece {
  readonly json: string
  readonly line: number
}

/** A text, a bracket or the end of a line. */
const TOKEN = /"(?:\\.|[^"\\])*"|[{}[\]]|\n/gs

const STEPS: ReadonlyMap<string, number> = new Map([
  ['{', 1],
  ['[', 1],
  ['}', -1],
  [']', -1],
])

/** The values of a text one after the other: objects or lists, on a line each, over many lines, or with commas between them. */
function topLevel(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let [depth, start, line, begun] = [0, 0, 1, 1]
  const end = (at: number): void => {
    const json = text.slice(start, at).trim().replace(/^,\s*/, '')
    if (json !== '') pieces.push({ json, line: begun })
    start = at
    begun = line
  }
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const step = STEPS.get(token) ?? 0
    if (token === '\n') line += 1
    if (step > 0 && depth === 0) begun = line
    depth = Math.max(0, depth + step)
    // What is no value is told of with its line.
    if (depth === 0 && !token.startsWith('"')) end(token === '\n' ? index : index + 1)
  }
  end(text.length)
  return pieces
}

/** What a subscriber is read from, each time anew: its keys are wiped by whoever asked for them. */
type Read = (what: 'with keys' | 'without keys') => SubscriberFound | undefined

/**
 * Subscribers of Open5GS and free5GC in what `mongoexport` writes: one document a line or a list, in canonical or relaxed
 * extended JSON. Of free5GC the collections come in any order, each in texts of its own or all in one. Throws `validation_failed`.
 */
export function documentSource(texts: readonly string[]): SubscriberSource {
  const docs = texts.flatMap((text, at) => docsIn(text, texts.length > 1 ? ` of file ${at + 1}` : ''))
  const subscribers = new Map<Imsi, Read>([...ofOpen5gs(docs), ...ofFree5gc(docs)])
  if (subscribers.size === 0)
    throw validationFailed(
      'no document in it is a subscriber of Open5GS (collection subscribers) or of free5GC (subscriptionData…, policyData…)',
    )
  return {
    name: 'documents',
    everybody: async () => [...subscribers.keys()],
    whole: async (imsis, what) =>
      new Map(
        imsis.flatMap((imsi) => {
          const found = subscribers.get(imsi)?.(what)
          return found === undefined ? [] : [[imsi, found] as const]
        }),
      ),
  }
}

function docsIn(text: string, where: string): readonly Doc[] {
  return topLevel(text.replace(/^\uFEFF/, '')).flatMap(({ json, line }) => {
    const value = read(json)
    if (value === undefined)
      throw validationFailed(
        `line ${line}${where} is no JSON as mongoexport writes it; export the collection again, as JSON`,
      )
    return (Array.isArray(value) ? value : [value]).filter(isRecord)
  })
}

/** Undefined for what is none. The parser's words have some of it, which can be a key. */
function read(json: string): unknown {
  try {
    return EJSON.parse(json, { relaxed: false })
  } catch {
    return undefined
  }
}

function ofOpen5gs(docs: readonly Doc[]): ReadonlyMap<Imsi, Read> {
  const found = new Map<Imsi, Read>()
  for (const doc of docs) {
    const { imsi, security, slice } = doc
    const isSubscriber = typeof imsi === 'string' && /^[0-9]{6,15}$/.test(imsi)
    if (isSubscriber && (isRecord(security) || Array.isArray(slice)))
      found.set(imsi as Imsi, (what) => foundInOpen5gs(doc, what)) // its digits were counted
  }
  return found
}

/** What a document of each collection has, and those before it have not. */
const SHAPES: readonly (readonly [collection: string, field: string])[] = [
  [COLLECTIONS.auth, 'encPermanentKey'],
  // The web console's copy has the same words: which of them is read is seen once all are there.
  [COLLECTIONS.webAuth, 'permanentKey'],
  [COLLECTIONS.auth, 'authenticationMethod'],
  [COLLECTIONS.selection, 'subscribedSnssaiInfos'],
  [COLLECTIONS.sm, 'dnnConfigurations'],
  [COLLECTIONS.policySm, 'smPolicySnssaiData'],
  [COLLECTIONS.policyAm, 'subscCats'],
  [COLLECTIONS.am, 'subscribedUeAmbr'],
  [COLLECTIONS.am, 'gpsis'],
  [COLLECTIONS.charging, 'chargingMethod'],
  [COLLECTIONS.flow, 'precedence'],
  [COLLECTIONS.qos, '5qi'],
  [COLLECTIONS.identity, 'gpsi'],
]

type Sides = Record<'live' | 'aside', readonly Doc[]>

function ofFree5gc(docs: readonly Doc[]): ReadonlyMap<Imsi, Read> {
  const held = new Map<Imsi, Map<string, Sides>>()
  for (const doc of docs) {
    const whose = readUeId(doc.ueId)
    const collection = SHAPES.find(([, field]) => field in doc)?.[0]
    if (whose === undefined || collection === undefined) continue
    const its = held.get(whose.imsi) ?? new Map<string, Sides>()
    const sides = its.get(collection) ?? { live: [], aside: [] }
    const side = whose.isAside ? 'aside' : 'live'
    its.set(collection, { ...sides, [side]: [...sides[side], inDoubles(doc)] })
    held.set(whose.imsi, its)
  }
  return new Map([...held].map(([imsi, its]) => [imsi, readOf(its)] as const))
}

function readOf(its: Map<string, Sides>): Read {
  const web = its.get(COLLECTIONS.webAuth)
  // Up to release 3.4 the keys are in the words of the copy, and there is none.
  if (web !== undefined && !its.has(COLLECTIONS.auth)) {
    its.set(COLLECTIONS.auth, web)
    its.delete(COLLECTIONS.webAuth)
  }
  const held: Held = its
  const [am] = its.get(COLLECTIONS.am)?.live ?? []
  const plmn = String(am?.servingPlmnId ?? '')
  return (what) => foundInFree5gc(held, what, { plmn, spelling: 'v4' })
}

/** The web console writes every number as a double, and the PCF reads no other; relaxed JSON does not say. */
function inDoubles(doc: Doc): Doc {
  return Object.fromEntries(Object.entries(doc).map(([name, value]) => [name, inDouble(value)]))
}

function inDouble(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inDouble)
  const number = numberOf(value)
  if (number !== undefined) return new Double(number)
  const isDoc = isRecord(value) && !('_bsontype' in value)
  return isDoc ? inDoubles(value) : value
}
