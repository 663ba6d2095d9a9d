import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type SealedColumns, secretsInvalid } from '@steeple/contracts'
import { readKeyFile, replaceKeyFile } from './key-files.ts'

const FILE = 'sealed-tables.json'

/**
 * Every table that ever held sealed values, in `sealed-tables.json` beside the keys.
 *
 * A rotation must know of tables whose plugin is not loaded: a key that their rows need may not be retired.
 */
export interface SealedTables {
  all(): readonly SealedColumns[]
  /** Remembers a table, durable before it returns. */
  add(columns: SealedColumns): void
}

/** Opens the list in a keys directory. Throws `secrets_invalid`. */
export function openSealedTables(directory: string): SealedTables {
  const bytes = readKeyFile(directory, FILE)
  const tables = new Map(
    bytes === undefined ? [] : parse(directory, bytes).map((entry) => [entry.table, entry]),
  )
  return {
    all: () => [...tables.values()],
    add: ({ table, key, columns }) => {
      const entry = { table, key, columns: [...columns] }
      if (isDeepStrictEqual(tables.get(table), entry)) return
      tables.set(table, entry)
      replaceKeyFile(directory, FILE, Buffer.from(`${JSON.stringify([...tables.values()], undefined, 2)}\n`))
    },
  }
}

function parse(directory: string, bytes: Buffer): readonly SealedColumns[] {
  try {
    const list: unknown = JSON.parse(bytes.toString())
    if (Array.isArray(list) && list.every(isSealedColumns)) return list
  } catch (cause) {
    throw damaged(directory, cause)
  }
  throw damaged(directory)
}

function isSealedColumns(value: unknown): value is SealedColumns {
  const { table, key, columns } = Object(value) as Partial<Record<keyof SealedColumns, unknown>>
  return (
    typeof table === 'string' &&
    typeof key === 'string' &&
    Array.isArray(columns) &&
    columns.every((name) => typeof name === 'string')
  )
}

function damaged(directory: string, cause?: unknown): Error {
  return secretsInvalid(`${join(directory, FILE)} is damaged; restore it from a backup of the keys`, {
    cause,
  })
}
