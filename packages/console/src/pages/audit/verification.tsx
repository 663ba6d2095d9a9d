import type { Problem } from '@steeple/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import type { Entry } from './entry.ts'

/** What came of looking at the whole trail from here. */
interface ChainFindings {
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
async function verifyChain(
  onProgress: (checked: number) => void,
  signal: AbortSignal,
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
    const page = await api.get('/v1/audit', { query, signal })
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

/** Checks the whole trail from here, and says what can be checked on the box alone. */
export function Verification() {
  const [findings, setFindings] = useState<ChainFindings | undefined>(undefined)
  const [checked, setChecked] = useState<number | undefined>(undefined)
  const ending = useRef(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const run = async (): Promise<void> => {
    setFindings(undefined)
    setChecked(0)
    try {
      setFindings(await verifyChain(setChecked, ending.current.signal))
      setChecked(undefined)
    } catch (error) {
      // The page was left.
      if (!ending.current.signal.aborted) throw error
    }
  }
  return (
    <section class="card" aria-label={t('audit.verify')}>
      <p>{t('audit.verify.what')}</p>
      <div>
        <Button isBusy={checked !== undefined} onClick={() => void run()}>
          {checked === undefined ? t('audit.verify') : t('audit.verify.running', { count: checked })}
        </Button>
      </div>
      {findings === undefined ? null : <Findings findings={findings} />}
    </section>
  )
}

function Findings({ findings }: { readonly findings: ChainFindings }) {
  const { fault, error, checked, oldest, newest, hasHashes } = findings
  return (
    <>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {fault === undefined ? (
        <Notice tone={error === undefined ? 'ok' : 'warn'}>
          <p>{t('audit.verify.holds', { count: checked })}</p>
          {oldest === undefined || newest === undefined ? null : (
            <p>
              <Time at={oldest.at} /> – <Time at={newest.at} />
            </p>
          )}
        </Notice>
      ) : (
        <Notice tone="bad">
          <p>{t(`audit.verify.${fault.kind}`, { seq: fault.seq })}</p>
          <p>{t('audit.verify.fault.do')}</p>
        </Notice>
      )}
      <Notice>
        <p>{t('audit.verify.notHere')}</p>
        <ul>
          {hasHashes ? null : <li>{t('audit.verify.noHashes')}</li>}
          {oldest === undefined || oldest.seq === 1 ? null : (
            <li>{t('audit.verify.before', { seq: oldest.seq })}</li>
          )}
          <li>{t('audit.verify.end')}</li>
          <li>{t('audit.verify.rewritten')}</li>
        </ul>
        <p>
          <code>svc audit verify</code> · <a href="/docs/explanation/audit.html">{t('audit.docs')}</a>
        </p>
      </Notice>
    </>
  )
}
