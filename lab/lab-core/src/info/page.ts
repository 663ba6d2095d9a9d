import { cjson, type Json } from './cjson.ts'

/** A list that the info API serves. */
export interface Listing<T> {
  readonly path: string
  /** Whether `page=-1` means all at once; where it does not it means the first page. */
  readonly hasAllAtOnce: boolean
  readonly items: readonly T[]
  readonly show: (item: T) => Json
}

/** The default and the most items of a page. */
const PAGE_SIZE = 100
/** More than this comes out as `{}`. */
const OUTPUT_MAX = 512 * 1024

/**
 * One page of a listing as Open5GS prints it: `next` and `prev` without `page_size`, numbers that cannot be read as
 * their defaults, nothing but `{}` above 512 KiB.
 */
export function pageOf<T>(listing: Listing<T>, query: URLSearchParams): string {
  const { path, items, show, hasAllAtOnce } = listing
  if (query.get('page') === '-1' && hasAllAtOnce) {
    return bounded({ items: items.map(show), pager: { page: 0, page_size: 0, count: items.length } })
  }
  const page = numberIn(query, 'page', 0)
  const size = Math.min(numberIn(query, 'page_size', PAGE_SIZE) || PAGE_SIZE, PAGE_SIZE)
  const shown = items.slice(page * size, (page + 1) * size)
  const hasNext = items.length > (page + 1) * size
  const pager: Json = {
    page,
    page_size: size,
    count: shown.length,
    ...(page > 0 ? { prev: `${path}?page=${page - 1}` } : {}),
    ...(hasNext ? { next: `${path}?page=${page + 1}` } : {}),
  }
  return bounded({ items: shown.map(show), pager })
}

function bounded(body: Json): string {
  const text = cjson(body)
  return Buffer.byteLength(text) >= OUTPUT_MAX ? '{}' : text
}

function numberIn(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name) ?? ''
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : fallback
}
