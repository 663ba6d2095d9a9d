import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScanPosition } from './integrity.ts'

/** What is written down of the checks of the store, so that a restart goes on where the last one ended. */
export interface ScanState {
  /** Where the check that is under way stands; undefined when none is, or when it has found something. */
  readonly position?: ScanPosition
  /** Rows of the last whole check. */
  readonly rows?: number
}

/** The state beside the store. */
export interface ScanMemory {
  read(): ScanState
  /** Not synced: what is lost with it is some work. */
  write(state: ScanState): void
}

const FILE = 'store-check.json'
const MOST_BYTES = 16_384

/** Reads and writes `store-check.json` in a data directory. What cannot be read or written is as if there was none. */
export function scanMemory(dataDir: string): ScanMemory {
  const path = join(dataDir, FILE)
  return {
    read: () => {
      try {
        const text = readFileSync(path, 'utf8')
        return text.length > MOST_BYTES ? {} : stateFrom(JSON.parse(text))
      } catch {
        return {}
      }
    },
    write: (state) => {
      try {
        writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 })
        renameSync(`${path}.new`, path)
      } catch {
        // The check goes on; only a restart begins it anew.
      }
    },
  }
}

function stateFrom(value: unknown): ScanState {
  const { position, rows } = Object(value) as Partial<Record<keyof ScanState, unknown>>
  const counted = Number.isSafeInteger(rows) ? { rows: Number(rows) } : {}
  return isPosition(position) ? { ...counted, position } : counted
}

function isPosition(value: unknown): value is ScanPosition {
  const { table, key, rows } = Object(value) as Partial<Record<keyof ScanPosition, unknown>>
  const isKey =
    key === undefined ||
    (typeof key === 'object' &&
      key !== null &&
      Object.values(key).every((part) => part === null || ['string', 'number'].includes(typeof part)))
  return typeof table === 'string' && isKey && Number.isSafeInteger(rows)
}
