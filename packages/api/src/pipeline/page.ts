import { invalidCursor, invalidLimit, type Page } from '@steeple/contracts'
import type { Cursors } from './cursor.ts'

/** Contract section 2. */
const DEFAULT_LIMIT = 50
/** Contract section 2. */
const MAX_LIMIT = 500
/** A longer limit is not repeated: it may be anything, the number of a subscriber too. */
const SHOWN_CHARS = 8

/** The query of a list route, split: `limit` and `cursor` on one side, filters on the other. */
export interface PagedQuery {
  readonly limit: unknown
  readonly cursor: unknown
  readonly filters: Record<string, unknown>
}

/** Takes `limit` and `cursor` out of a query. */
export function splitPage(query: Readonly<Record<string, unknown>>): PagedQuery {
  const { limit, cursor, ...filters } = query
  return { limit, cursor, filters }
}

/** What a cursor is bound to: the URL's path and its filters, whatever their order. */
export function pageScope(path: string, filters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([path, sorted])
}

/** The page that was asked for. Throws `invalid_limit`, `invalid_cursor`. */
export function pageFrom(query: PagedQuery, scope: string, cursors: Cursors): Page {
  return {
    limit: limitFrom(query.limit),
    after: positionFrom(query.cursor, scope, cursors),
    cursor: (position) => cursors.seal(scope, position),
  }
}

function limitFrom(given: unknown): number {
  if (given === undefined) return DEFAULT_LIMIT
  if (typeof given !== 'string') throw invalidLimit('given more than once')
  const limit = /^[0-9]{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw invalidLimit(given.length <= SHOWN_CHARS ? given : 'too long')
  return limit
}

function positionFrom(given: unknown, scope: string, cursors: Cursors): Page['after'] {
  if (given === undefined) return undefined
  if (typeof given !== 'string') throw invalidCursor()
  return cursors.open(scope, given)
}
