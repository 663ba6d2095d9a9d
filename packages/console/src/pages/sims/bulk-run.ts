import type { AnswerOf, Problem, RequestOf, Result } from '@steeple/client'
import type { Role } from '../../api/session.ts'

/** What can be done with many SIMs at once. */
export type BulkAction = 'suspend' | 'resume' | 'extend' | 'label' | 'revoke'

/** All of it, with the role that each needs. */
export const BULK_ACTIONS: readonly { readonly name: BulkAction; readonly role: Role }[] = [
  { name: 'suspend', role: 'operator' },
  { name: 'resume', role: 'operator' },
  { name: 'extend', role: 'sim:issuer' },
  { name: 'label', role: 'sim:issuer' },
  { name: 'revoke', role: 'sim:admin' },
]

type Body = NonNullable<RequestOf<'POST', '/v1/sims/bulk'>['body']>
export type BulkFilter = NonNullable<Body['filter']>
/** What is done, and what goes with that action alone. */
export type BulkChange = Pick<Body, 'label' | 'reason' | 'expires_at'> & { readonly action: BulkAction }
/** The service's answer: of a dry run, what would be done. */
export type BulkAnswer = AnswerOf<'POST', '/v1/sims/bulk'>
export type BulkResult = BulkAnswer['results'][number]

/** Which SIMs: those that were ticked, or all that a filter means behind the hash `after`. */
export type Meant =
  | { readonly ids: readonly string[] }
  | { readonly filter: BulkFilter; readonly after?: string }

export type AskBulk = (body: Body, wait: string | undefined) => Promise<Result<BulkAnswer>>

/** Phones that were online, how many of them are off, and after how long. */
export interface Cut {
  readonly on: number
  readonly off: number
  readonly tookMs: number
}

/** How far it is: results come in parts. */
export interface BulkProgress {
  readonly results: readonly BulkResult[]
  /** What is still to be done; undefined where nothing is. */
  readonly left: Meant | undefined
  /** What became of those that were online; undefined where nobody is cut off, or nothing waited for that. */
  readonly cut: Cut | undefined
  /** Whether the core could not be reached when it was asked for. */
  readonly isAway: boolean
  /** Why it did not go on. */
  readonly error: Problem | undefined
}

/** SIMs of one request: each is one transaction, and what is done stays done. */
const PART = 1_000
/** How long the answer waits for phones to be off: of one request alone, since several would wait one after the other. */
const WAIT = '5s'
const CUTTING: readonly BulkAction[] = ['suspend', 'revoke']
const OPPOSITES: Readonly<Partial<Record<BulkAction, 'suspend' | 'resume'>>> = {
  suspend: 'resume',
  resume: 'suspend',
}

/** A filter of every SIM there is, where nothing narrows the list: an empty one is refused, so that nobody means all by mistake. */
const EVERY: BulkFilter = { expires_after: '1970-01-01T00:00:00Z' }

/** All that a list shows, and all that is behind it. */
export function meantBy(filter: BulkFilter): Meant {
  return { filter: Object.keys(filter).length === 0 ? EVERY : filter }
}

/** What would be done; nothing is. */
export function lookAhead(ask: AskBulk, change: BulkChange, meant: Meant): Promise<Result<BulkAnswer>> {
  return ask({ ...change, ...meant, dry_run: true } as Body, undefined)
}

/** The first part of what is meant, as the service takes it. */
function partOf(meant: Meant): Pick<Body, 'ids' | 'filter' | 'limit' | 'after'> {
  return 'ids' in meant ? { ids: meant.ids.slice(0, PART) } : { ...meant, limit: PART }
}

function restOf(meant: Meant, next: string | null): Meant | undefined {
  if ('ids' in meant) return meant.ids.length > PART ? { ids: meant.ids.slice(PART) } : undefined
  return next === null ? undefined : { filter: meant.filter, after: next }
}

/** Changes SIMs, part by part, and tells how far it is. `count`: how many are meant; one alone is followed and not waited for. */
export async function runBulk(
  ask: AskBulk,
  change: BulkChange,
  meant: Meant,
  { count, isAway }: { readonly count: number; readonly isAway: boolean },
  tell: (progress: BulkProgress) => void = () => undefined,
): Promise<BulkProgress> {
  let progress: BulkProgress = { results: [], left: meant, cut: undefined, isAway, error: undefined }
  // Nothing comes of waiting for a core that is away.
  const isWaited = count > 1 && count <= PART && CUTTING.includes(change.action) && !isAway
  for (let left: Meant | undefined = meant; left !== undefined; left = progress.left) {
    const from = performance.now()
    const answer = await ask({ ...change, ...partOf(left) }, isWaited ? WAIT : undefined)
    if (!answer.ok) {
      progress = { ...progress, error: answer.error }
      break
    }
    const { attached: on, detached: off, results, next } = answer.data
    progress = {
      isAway,
      results: [...progress.results, ...results],
      cut: off === null || on === 0 ? undefined : { on, off, tookMs: performance.now() - from },
      left: restOf(left, next),
      error: undefined,
    }
    tell(progress)
  }
  tell(progress)
  return progress
}

/** The SIMs that were really changed: what an undo is about. */
export function changedOf({ results }: Pick<BulkProgress, 'results'>): readonly string[] {
  return results.filter(({ status }) => status === 'changed').map(({ imsi_sha256_12: hash }) => hash)
}

/** What takes an action back from those that it has changed; undefined where nothing does. */
export function oppositeOf(action: BulkAction): 'suspend' | 'resume' | undefined {
  return OPPOSITES[action]
}

/** What became of each SIM as CSV (RFC 4180); a label that a spreadsheet would take for a formula begins with an apostrophe. */
export function resultsCsv(results: readonly BulkResult[], labels: ReadonlyMap<string, string>): string {
  const cell = (text: string): string => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  const lines = results.map(({ imsi_sha256_12: hash, status, state, error }) => [
    ...[hash, labels.get(hash) ?? '', status, state ?? ''],
    ...[error?.code ?? '', error?.message ?? ''],
  ])
  const head = ['imsi_sha256_12', 'label', 'status', 'state', 'error', 'message']
  return [head, ...lines].map((line) => `${line.map(cell).join(',')}\r\n`).join('')
}
