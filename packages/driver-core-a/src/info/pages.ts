import { createHash } from 'node:crypto'
import { southboundUnavailable } from '@steeple/contracts'
import { httpGet } from './http-get.ts'

/** A list of the info API. */
export interface InfoList {
  /** The daemon, for errors. */
  readonly daemon: string
  /** Base URL, without a slash at the end. */
  readonly base: string
  /** `/ue-info`, `/enb-info`, … */
  readonly path: string
}

/** So many entries are walked; a longer list is refused, as a bound on time and memory. */
export const ENTRIES_MAX = 200_000
const PAGE_ENTRIES = 100
const PAGES_MAX = ENTRIES_MAX / PAGE_ENTRIES
/** Pages with a next one are full. So many that are nearly empty are borne, since entries leave meanwhile. */
const THIN_PAGES_MAX = 50
const THIN_PAGE_ENTRIES = 10

/** A page as `parsePage` reads it. */
export interface Page {
  readonly items: readonly unknown[]
  readonly hasNext: boolean
}

/**
 * Every entry of a list, page by page, in pages of the core's own size.
 *
 * `page_size` is not sent: the core drops it from its links. `page=-1` is not used: some lists take it for page 0.
 * Entries may move between two pages, so one can come twice or be missed. Throws `southbound_unavailable`, also when the
 * pages do not come to an end: one that is empty, was there before or has hardly any entries names a next one.
 */
export async function* pagesOf(list: InfoList, signal: AbortSignal): AsyncGenerator<readonly unknown[]> {
  const { daemon, base, path } = list
  let entries = 0
  const seen = new Set<string>()
  for (let page = 0; page < PAGES_MAX && entries <= ENTRIES_MAX; page += 1) {
    const { status, body } = await httpGet(daemon, `${base}${path}?page=${page}`, signal)
    if (status !== 200) throw southboundUnavailable(refusal(list, status))
    const parsed = parsePage(body)
    if (parsed === undefined)
      throw southboundUnavailable(
        `${daemon} cannot be asked: ${path} answered without entries (list too long?)`,
      )
    entries += parsed.items.length
    if (parsed.hasNext) refuseEndless(list, { page, entries, items: parsed.items, seen })
    yield parsed.items
    if (!parsed.hasNext) return
  }
  throw southboundUnavailable(`${daemon} lists more than ${ENTRIES_MAX} entries at ${path}`)
}

interface Progress {
  readonly page: number
  /** Up to and with this page. */
  readonly entries: number
  readonly items: readonly unknown[]
  /** Digests of the pages so far. */
  readonly seen: Set<string>
}

/** Throws for a page with a next one that shows that this will not end. */
function refuseEndless({ daemon, path }: InfoList, { page, entries, items, seen }: Progress): void {
  const endless = (why: string): Error =>
    southboundUnavailable(`${daemon} cannot be asked: ${path} names a next page for ever: ${why}`)
  if (items.length === 0) throw endless(`page ${page} is empty`)
  const digest = createHash('sha256').update(JSON.stringify(items)).digest('base64')
  if (seen.has(digest)) throw endless(`page ${page} is one that was there before`)
  seen.add(digest)
  if (page > THIN_PAGES_MAX + entries / THIN_PAGE_ENTRIES) throw endless('its pages have hardly any entries')
}

/** A page in a text; undefined when the text is none. `{}` is what the core prints when a page does not fit. */
export function parsePage(body: string): Page | undefined {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return undefined
  }
  const { items, pager } = recordOf(value)
  if (!Array.isArray(items)) return undefined
  return { items, hasNext: typeof recordOf(pager).next === 'string' }
}

/** The fields of a value; none when it is no object. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function refusal({ daemon, path }: InfoList, status: number): string {
  if (status === 400) return `${daemon} has no ${path}: phones and radios can be seen from Open5GS 2.7.7 on`
  return `${daemon} cannot be asked: ${path} answered ${status}`
}
