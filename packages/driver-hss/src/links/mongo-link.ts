import { southboundUnavailable } from '@steeple/contracts'
import { abortable } from '@steeple/southbound'
import type { MongoClient } from 'mongodb'
import { bulkModel } from './bulk-model.ts'
import type { DocumentLink, WriteFailure, WriteOp } from './document-link.ts'

/** How long the server may take to be found, to connect and to answer, ms. */
const SELECT_MS = 3_000
const ANSWER_MS = 15_000
/** Codes of an index that exists with other options, or whose documents contradict it. */
const INDEX_CONFLICTS: ReadonlySet<unknown> = new Set([85, 86, 11_000])
/** Integers stay `Int32`, `Long` or `Double`, as stored. */
const AS_STORED = { promoteValues: false, promoteLongs: false } as const

/** What of an address may be shown: hosts and database, no credentials, no options. */
export function shownUrl(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*$/, '')
}

/** What may be set beside the defaults, ms. */
export interface MongoLinkOptions {
  readonly selectMs?: number
  readonly answerMs?: number
}

/** The database over its own protocol. `fallback` is the database's name when the URL has none. Connects when used. */
export function mongoLink(url: string, fallback: string, options: MongoLinkOptions = {}): DocumentLink {
  const { selectMs = SELECT_MS, answerMs = ANSWER_MS } = options
  let opening: Promise<MongoClient> | undefined
  const name = databaseOf(url) ?? fallback
  const where = shownUrl(url)
  const collectionOf = async (collection: string) => {
    opening ??= open(url, selectMs, answerMs)
    try {
      return (await opening).db(name).collection(collection)
    } catch (cause) {
      opening = undefined
      throw cause
    }
  }
  const guarded = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    try {
      return await abortable(work(), signal, answerMs)
    } catch (error) {
      signal.throwIfAborted()
      throw southboundUnavailable(`the subscriber database at ${where} does not answer: ${kindOf(error)}`)
    }
  }
  return {
    where,
    find: (collection, filter, projection, signal, limit = 0) =>
      guarded(signal, async () => {
        const held = await collectionOf(collection)
        return await held.find(filter, { projection, limit, ...AS_STORED }).toArray()
      }),
    write: (collection, ops, signal) =>
      guarded(signal, async () => {
        if (ops.length === 0) return []
        const held = await collectionOf(collection)
        const models = ops.map(bulkModel)
        try {
          // bulkModel makes what the driver's union of write models asks for.
          await held.bulkWrite(models as unknown as Parameters<typeof held.bulkWrite>[0], { ordered: false })
          return ops.map(() => undefined)
        } catch (error) {
          return failuresOf(error, ops)
        }
      }),
    ensureIndex: (collection, field, unique, signal) =>
      guarded(signal, async () => {
        const held = await collectionOf(collection)
        try {
          await held.createIndex({ [field]: 1 }, { unique })
          return 'ok'
        } catch (error) {
          if (INDEX_CONFLICTS.has(codeOf(error))) return 'conflict'
          throw error
        }
      }),
    close: async () => {
      const client = await opening?.catch(() => undefined)
      opening = undefined
      await client?.close()
    },
  }
}

/** Loads the MongoDB driver only when somebody needs it. */
async function open(url: string, selectMs: number, answerMs: number): Promise<MongoClient> {
  const { MongoClient } = await import('mongodb')
  return new MongoClient(url, {
    appName: 'steeple',
    serverSelectionTimeoutMS: selectMs,
    connectTimeoutMS: selectMs,
    socketTimeoutMS: answerMs,
    maxPoolSize: 4,
    minPoolSize: 0,
    maxIdleTimeMS: 60_000,
  })
}

function databaseOf(url: string): string | undefined {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]*\/([^?]*)/.exec(url)?.[1]
  return path === undefined || path === '' ? undefined : decodeURIComponent(path)
}

function failuresOf(error: unknown, ops: readonly WriteOp[]): readonly (WriteFailure | undefined)[] {
  const found = (error as { writeErrors?: unknown }).writeErrors
  const list: readonly unknown[] = found === undefined ? [] : [found].flat()
  if (list.length === 0) throw error
  const byIndex = new Map<unknown, WriteFailure>()
  for (const entry of list) {
    const { index, code } = entry as { index?: unknown; code?: unknown } // read from outside, checked below
    byIndex.set(index, { code: typeof code === 'number' ? code : 0 })
  }
  return ops.map((_op, index) => byIndex.get(index))
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

/** The kind of an error: its name and code. Its words can hold what was written. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = codeOf(error)
  return code === undefined ? error.name : `${error.name} ${String(code)}`
}
