import { inspect } from 'node:util'
import type { Doc, Value } from '../store/ejson.ts'

/** How many documents mongosh shows at once. */
const SHOWN_MAX = 20

/** What mongosh prints for the documents of a `find()`. */
export function shownDocs(docs: readonly Doc[]): string {
  if (docs.length === 0) return '\n'
  const more = docs.length > SHOWN_MAX ? 'Type "it" for more\n' : ''
  return `${shown(docs.slice(0, SHOWN_MAX).map(plain))}\n${more}`
}

/** What mongosh prints for the result of a change. */
export function shownUpdate(matched: number, modified: number): string {
  const result = { insertedId: null, matchedCount: matched, modifiedCount: modified, upsertedCount: 0 }
  return `${shown({ acknowledged: true, ...result })}\n`
}

/** What mongosh prints for the result of an insertion, as recorded. */
export function shownInsert(id: string): string {
  return `{\n  acknowledged: true,\n  insertedId: ObjectId('${id}')\n}\n`
}

/** What mongosh prints for the result of a removal. */
export function shownDelete(count: number): string {
  return `${shown({ acknowledged: true, deletedCount: count })}\n`
}

/** The error of a second document with the same IMSI. */
export function shownDuplicate(imsi: string): string {
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
