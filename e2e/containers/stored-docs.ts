import type { TestDatabase } from './database.ts'

/** The database that free5GC reads. */
export const DATABASE = 'free5gc'

/** What a function asks of the UDR: where, below its data set, and with which parameters and body. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

/** The UDR's answer. */
export interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** What the UDR says when there is no such document. */
export const NOT_FOUND: Answer = { status: 404, body: { status: 404, cause: 'DATA_NOT_FOUND' } }

/** A stored document. */
export type Doc = Readonly<Record<string, unknown>>

/** The first document that `filter` finds, numbers as JSON has them; undefined when there is none. */
export async function storedDoc(
  database: TestDatabase,
  collection: string,
  filter: Doc,
): Promise<Doc | undefined> {
  return (await storedDocs(database, collection, filter))[0]
}

/** All of them. */
export async function storedDocs(
  database: TestDatabase,
  collection: string,
  filter: Doc,
): Promise<readonly Doc[]> {
  const found = database.collection(DATABASE, collection).find(filter, { projection: { _id: 0 } })
  return JSON.parse(JSON.stringify(await found.toArray())) as Doc[]
}

/** A part of a document that is one itself; empty when it is none. */
export function docOf(value: unknown): Doc {
  return typeof value === 'object' && value !== null ? (value as Doc) : {} // a stored document
}
