import type { AnswerOf, Problem } from '@steeple/client'
import { api } from '../../api/client.ts'
import type { Role } from '../../api/session.ts'

/** What can be done with many SIMs at once. */
export type BulkAction = 'suspend' | 'resume' | 'label' | 'revoke'

/** All of it, with the role that each needs. */
export const BULK_ACTIONS: readonly { readonly name: BulkAction; readonly role: Role }[] = [
  { name: 'suspend', role: 'operator' },
  { name: 'resume', role: 'operator' },
  { name: 'label', role: 'sim:issuer' },
  { name: 'revoke', role: 'sim:admin' },
]

/** What became of one SIM. */
export type BulkResult = AnswerOf<'POST', '/v1/sims/bulk'>['results'][number]

/** Phones that were online, how many of them are off, and after how long. */
export interface Cut {
  readonly on: number
  readonly off: number
  readonly tookMs: number
}

/** How far it is: results come in parts, and what has not been asked for is still to be done. */
export interface BulkProgress {
  readonly results: readonly BulkResult[]
  readonly left: readonly string[]
  /** What became of those that were online; undefined where nobody is cut off, or nothing waited for that. */
  readonly cut: Cut | undefined
  /** Why it did not go on. */
  readonly error: Problem | undefined
}

/** SIMs that can be chosen together. */
export const MOST = 10_000
/** SIMs of one request: each is one transaction, and what is done stays done. */
const PART = 1_000
/** How long the answer waits for phones to be off: of one request alone, since several would wait one after the other. */
const WAIT = '5s'
const CUTTING: readonly BulkAction[] = ['suspend', 'revoke']

/** Changes SIMs, part by part. `label` and `override` go with their actions alone. */
export async function runBulk(
  action: BulkAction,
  ids: readonly string[],
  more: { readonly label?: string | null; readonly reason?: string },
  tell: (progress: BulkProgress) => void,
): Promise<BulkProgress> {
  let progress: BulkProgress = { results: [], left: ids, cut: undefined, error: undefined }
  const query = ids.length <= PART && CUTTING.includes(action) ? { wait: WAIT } : {}
  while (progress.left.length > 0) {
    const part = progress.left.slice(0, PART)
    const from = performance.now()
    const answer = await api.post('/v1/sims/bulk', {
      query,
      body: { action, ids: part, ...more },
      timeoutMs: 120_000,
    })
    if (!answer.ok) {
      progress = { ...progress, error: answer.error }
      break
    }
    const { attached: on, detached: off } = answer.data
    progress = {
      results: [...progress.results, ...answer.data.results],
      cut: off === null || on === 0 ? undefined : { on, off, tookMs: performance.now() - from },
      left: progress.left.slice(PART),
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
