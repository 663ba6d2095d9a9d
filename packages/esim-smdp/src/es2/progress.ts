import { randomUUID } from 'node:crypto'
import type { Tx } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { REFUSALS, type RefusalName } from '../rsp/refusal.ts'
import { ORDERS, PROGRESS } from '../store/es2-store.ts'

/** Steps of a download that an order system is told of. SGP.22 §5.3.5. */
const POINTS = { eligibility: 1, confirmation: 2, download: 3, installation: 4 } as const

export interface Step {
  readonly token: string
  /** SHA-256 (hex) of the EID, when it is known. */
  readonly eidHash: string | null
  readonly point: keyof typeof POINTS
  /** Absent: it went well. */
  readonly failure?: RefusalName | { readonly message: string }
  /** PendingNotification (DER) of an installation. */
  readonly result?: Uint8Array
}

/**
 * Notes a step in the transaction in which it happens, so that it is told however the process ends; nothing for codes that
 * nobody has ordered by ES2+, nor while `esim.es2.notify_url` is empty.
 */
export async function noteStep(
  { context, vault }: Pick<EsimParts, 'context' | 'vault'>,
  tx: Tx,
  step: Step,
): Promise<void> {
  if (context.config.es2.notify_url === '') return
  if ((await ORDERS.find(tx, { token: step.token })) === undefined) return
  const { failure } = step
  const codes = typeof failure === 'string' ? REFUSALS[failure] : undefined
  const message = codes?.[2] ?? (typeof failure === 'object' ? failure.message : null)
  const nowMs = Math.floor(context.clock.nowMs())
  const id = randomUUID()
  await PROGRESS.insert(tx, {
    id,
    token: step.token,
    eid_hash: step.eidHash,
    point: POINTS[step.point],
    is_ok: failure === undefined ? 1 : 0,
    subject_code: codes?.[0] ?? null,
    reason_code: codes?.[1] ?? null,
    message,
    result_sealed: step.result === undefined ? null : vault.seal(step.result, `esim_smdp_progress/${id}`),
    at_ms: nowMs,
    failures: 0,
    next_at_ms: nowMs,
  })
}
