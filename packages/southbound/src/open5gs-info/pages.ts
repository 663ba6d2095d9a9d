import { isRecord, southboundUnavailable } from '@steeple/contracts'
import { codeOf, httpClient } from '@steeple/http-client'

/** The core prints at most 512 KiB; what is longer is not its answer. */
const BODY_MAX_BYTES = 1_048_576

/** A daemon closes each connection after its answer. */
const client = httpClient({ maxBytes: BODY_MAX_BYTES, idleMs: 0 })

interface Answer {
  readonly status: number
  readonly body: string
}

/** How long to wait for one answer, ms. The daemon answers from its main loop, between two messages of phones. */
const ANSWER_MS = 3_000

/**
 * Asks a daemon's own HTTP server, one connection per request (it closes each).
 *
 * `who` names it in errors. Throws `southbound_unavailable`, or the signal's reason.
 */
export async function httpGet(
  who: string,
  url: string,
  signal: AbortSignal,
  limitMs: number = ANSWER_MS,
): Promise<Answer> {
  signal.throwIfAborted()
  const limit = AbortSignal.timeout(limitMs)
  try {
    // Behind a proxy of the operator's it may be HTTPS.
    const request = { method: 'GET', url: new URL(url) } as const
    const { status, text } = await client.request(request, AbortSignal.any([signal, limit]))
    return { status, body: text }
  } catch (error) {
    signal.throwIfAborted()
    const why = limit.aborted ? `no answer within ${limitMs} ms` : reasonOf(error)
    throw southboundUnavailable(`${who} cannot be asked: ${why}`, { cause: error })
  }
}

/** The code of an error, or its words: neither holds anything of a subscriber. */
function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code !== '') return code
  return error instanceof Error ? error.message : 'it failed'
}

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
const ENTRIES_MAX = 200_000
const PAGE_ENTRIES = 100
const LAST_PAGE_MAX = ENTRIES_MAX / PAGE_ENTRIES

/** A page as `parsePage` reads it. */
interface Page {
  readonly items: readonly unknown[]
  readonly hasNext: boolean
}

/** Where lists ended last, by URL: the next walk begins there. */
export type ListEnds = Map<string, number>

/** The end of a list of several pages is read again so often at least. */
const END_READS_MIN = 2
/** At most so often: while many attach the end never looks the same twice. */
const END_READS_MAX = 5

/**
 * Every entry of a list, page by page, from the last one to the first: each that is in the list all the while comes at
 * least once, whatever comes, goes or moves meanwhile; one that moves more than twice in the walk may not.
 *
 * The core prints each page from its list as it is at that moment. It appends what is new, and what leaves lets all behind
 * it move up: towards the pages that are still to be read, so that an entry may come twice and is never missed. A phone that
 * attaches anew under another temporary identity moves from its place to the end: so the end is read once more, back
 * to entries that have not moved since the walk began. It may move again while that is read: so a second time, and on
 * until nothing new is there. An end of one page is printed at once, and read once.
 *
 * `page_size` is not sent: the core drops it from its links. `page=-1` is not used: some lists take it for page 0. Throws
 * `southbound_unavailable`, also when a list has no end.
 */
export async function* pagesOf(
  list: InfoList,
  signal: AbortSignal,
  ends: ListEnds = new Map(),
): AsyncGenerator<readonly unknown[]> {
  const key = `${list.base}${list.path}`
  const placed: PageOfEntry = new Map()
  let [end, pages, entries] = [0, 0, 0]
  for await (const { items, page } of backwards(list, ends.get(key) ?? 0, signal)) {
    pages += 1
    entries += items.length
    if (entries > ENTRIES_MAX) throw tooLong(list)
    if (items.length > 0) end = Math.max(end, page)
    for (const name of namesIn(items)) if (!placed.has(name)) placed.set(name, page)
    yield items
  }
  ends.set(key, end)
  // One page is printed at once.
  if (pages > 1) yield* endAgain(list, signal, end, placed)
}

/** On which page each entry was when it was read first. */
type PageOfEntry = Map<string, number>

/** What came or moved to the end since a walk began that read its entries at those places. */
async function* endAgain(
  list: InfoList,
  signal: AbortSignal,
  end: number,
  placed: PageOfEntry,
): AsyncGenerator<readonly unknown[]> {
  const seen = new Set(placed.keys())
  for (let reads = 1; reads <= END_READS_MAX; reads += 1) {
    const seenBefore = seen.size
    let pages = 0
    for await (const { items, page } of backwards(list, end, signal)) {
      pages += 1
      for (const name of namesIn(items)) seen.add(name)
      yield items
      if (hasUnmoved(items, page, placed)) break
    }
    if (pages === 1 || (reads >= END_READS_MIN && seen.size === seenBefore)) return
  }
}

/**
 * Whether some entry of a page has not moved since the first pass, so that all that did are behind it. One that has not is
 * where it was or further ahead. So can be one that moved or came since, where as many have left; but not half a page of
 * them in one walk.
 */
function hasUnmoved(items: readonly unknown[], page: number, placed: PageOfEntry): boolean {
  const inPlace = namesIn(items).filter((name) => (placed.get(name) ?? -1) >= page)
  return inPlace.length > PAGE_ENTRIES / 2
}

/** The pages from the last one to the first; the last one is looked for from `from` on, in ever longer steps. */
async function* backwards(
  list: InfoList,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Page & { readonly page: number }> {
  let page = from
  let read = await readPage(list, page, signal)
  for (let step = 1; read.hasNext; step *= 2) {
    if (page >= LAST_PAGE_MAX) throw tooLong(list)
    page = Math.min(page + step, LAST_PAGE_MAX)
    read = await readPage(list, page, signal)
  }
  yield { ...read, page }
  while (page > 0) {
    page -= 1
    yield { ...(await readPage(list, page, signal)), page }
  }
}

async function readPage(list: InfoList, page: number, signal: AbortSignal): Promise<Page> {
  const { daemon, base, path } = list
  const { status, body } = await httpGet(daemon, `${base}${path}?page=${page}`, signal)
  if (status !== 200) throw southboundUnavailable(refusal(list, status))
  const parsed = parsePage(body)
  if (parsed !== undefined) return parsed
  throw southboundUnavailable(
    `${daemon} cannot be asked: ${path} answered without all its entries (a page above 512 KiB, or it is out of memory)`,
  )
}

/**
 * A page in a text; undefined when the text is none, or not all of one. `{}` is what the core prints when a page does not
 * fit, and `truncated` says that it ran out of memory: there is no next page then, though the list goes on.
 */
export function parsePage(body: string): Page | undefined {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return undefined
  }
  const { items, pager } = recordOf(value)
  const { next, truncated } = recordOf(pager)
  if (!Array.isArray(items) || truncated === true) return undefined
  return { items, hasNext: typeof next === 'string' }
}

/** The fields of a value; none when it is no object. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** Whose entries they are; those of phones that have not said who they are have no name. */
function namesIn(items: readonly unknown[]): readonly string[] {
  return items.flatMap((item) => {
    const { supi, enb_id, gnb_id } = recordOf(item)
    const name = supi ?? enb_id ?? gnb_id
    return typeof name === 'string' || typeof name === 'number' ? [String(name)] : []
  })
}

function tooLong({ daemon, path }: InfoList): Error {
  return southboundUnavailable(`${daemon} lists more than ${ENTRIES_MAX} entries at ${path}`)
}

function refusal({ daemon, path }: InfoList, status: number): string {
  if (status === 400)
    return (
      `${daemon} has no ${path}: phones, sessions and radios can be seen from Open5GS 2.7.7 on; ` +
      'update the core, or correct the address if another daemon answers there'
    )
  return `${daemon} cannot be asked: ${path} answered ${status}`
}
