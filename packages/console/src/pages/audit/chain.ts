import type { AnswerOf, Problem, Result } from '@steeple/client'

type Page = AnswerOf<'GET', '/v1/audit'>
export type Entry = Page['entries'][number]

/** What came of looking at the whole trail from here. */
export interface ChainFindings {
  readonly checked: number
  readonly oldest: Entry | undefined
  readonly newest: Entry | undefined
  /** Whether this page could compute hashes: browsers do for TLS and their own machine alone. */
  readonly hasHashes: boolean
  /** The first entry, from the newest on, that does not hold, and why. */
  readonly fault: { readonly seq: number; readonly kind: 'content' | 'link' | 'gap' } | undefined
  /** Why it could not be read to its beginning. */
  readonly error: Problem | undefined
}

/** The service's largest page. */
const PAGE_ROWS = 500

/** Reads the whole trail, newest first, and checks that each entry has the content that its hash covers and names the one before it. */
export async function verifyChain(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Result<Page>>,
  onProgress: (checked: number) => void,
): Promise<ChainFindings> {
  const hasHashes = globalThis.crypto.subtle !== undefined
  let found: ChainFindings = {
    checked: 0,
    oldest: undefined,
    newest: undefined,
    hasHashes,
    fault: undefined,
    error: undefined,
  }
  for (let cursor: string | undefined; ; ) {
    const query = { limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) }
    const page = await read(query)
    if (!page.ok) return { ...found, error: page.error }
    for (const entry of page.data.entries) {
      const kind = await faultOf(entry, found.oldest, hasHashes)
      if (kind !== undefined) {
        // A link that does not hold says that of the two the older one is not what the newer one followed.
        return { ...found, fault: { seq: entry.seq, kind } }
      }
      found = { ...found, checked: found.checked + 1, oldest: entry, newest: found.newest ?? entry }
    }
    onProgress(found.checked)
    if (page.data.next_cursor === null) return found
    cursor = page.data.next_cursor
  }
}

async function faultOf(entry: Entry, newer: Entry | undefined, hasHashes: boolean) {
  if (newer !== undefined && newer.seq !== entry.seq + 1) return 'gap'
  if (newer !== undefined && newer.prev_hash !== entry.hash) return 'link'
  return !hasHashes || (await hashOf(entry)) === entry.hash ? undefined : 'content'
}

/** SHA-256 over the canonical JSON of the entry; docs/explanation/audit.md has the form. */
async function hashOf({ at, principal, hash: _, ...entry }: Entry): Promise<string> {
  const { kind, id, name } = principal
  const { action, target, outcome, request_id, detail, prev_hash, seq } = entry
  const covered = { action, at_ms: Date.parse(at), detail, outcome, prev_hash, request_id, seq, target }
  const text = canonicalJson({ ...covered, principal: { id, kind, name } })
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, '0')).join('')
}

/** JSON with the keys of every object in code unit order and no white space. RFC 8785. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`
}
