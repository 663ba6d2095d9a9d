import { backoffMs, type ComponentHealth, type ImsiHash, type Tx } from '@steeple/contracts'
import { iccidOut } from '../es2/core.ts'
import type { EsimParts } from '../parts.ts'
import {
  cancelsDue,
  PROVIDED,
  PROVIDERS,
  type ProvidedRow,
  type ProviderRow,
} from '../store/provider-store.ts'
import { CODES, type CodeRow } from '../store/rows.ts'
import { callProvider, ProviderFailure } from './es2-client.ts'
import { iccidOf } from './provided-code.ts'

/**
 * Notes that the provider of a code is to be told that it is revoked; nothing for a code of this SM-DP+, or one that the provider was
 * never asked for. Call it where the code moves.
 */
export async function noteCancel(
  { context }: EsimParts,
  tx: Tx,
  before: CodeRow,
): Promise<ProvidedRow | undefined> {
  const row = await PROVIDED.find(tx, { token: before.token })
  if (row === undefined || before.state === 'revoked') return row
  const provider = await PROVIDERS.find(tx, { id: row.provider })
  const isAsked = before.state !== 'allocated' || row.step !== 'none'
  // An order by file is at the provider, too, but nothing can be downloaded by it.
  const cancel = !isAsked ? 'none' : provider === undefined || provider.url === '' ? 'by_hand' : 'due'
  const after = { ...row, cancel, cancel_next_at_ms: Math.floor(context.clock.nowMs()) } as const
  await PROVIDED.put(tx, after)
  return after
}

const EVERY_MS = 5_000
const AT_ONCE = 4
const BACKOFF = { firstMs: 10_000, longestMs: 3_600_000 }

/** Tells providers which codes are revoked: ES2+ CancelOrder, until each has answered. */
export interface Cancels {
  start(): void
  /** Nothing while all were told. */
  health(): readonly ComponentHealth[]
}

export function createCancels(parts: EsimParts): Cancels {
  let problem: string | undefined
  return {
    start: () =>
      parts.context.every(EVERY_MS, async (signal) => {
        problem = await tellCancels(parts, problem, signal)
      }),
    health: () =>
      problem === undefined
        ? []
        : [
            {
              name: 'providers',
              kind: 'feature',
              status: 'degraded',
              detail: `a revoked code is not cancelled: ${problem}`,
            },
          ],
  }
}

/** Tells what is due. Gives why the last one failed, `before` when none was due. */
async function tellCancels(
  parts: EsimParts,
  before: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { context } = parts
  const due = await cancelsDue(context.db, Math.floor(context.clock.nowMs()), AT_ONCE)
  let problem = due.length === 0 ? before : undefined
  for (const row of due) {
    const failure = await cancelled(parts, row, signal)
    if (signal.aborted) return before
    const why = failure?.message
    problem ??= why
    await context.observe(async (tx) => {
      const now = await PROVIDED.find(tx, { token: row.token })
      const code = await CODES.find(tx, { token: row.token })
      if (now === undefined || code === undefined) return
      await PROVIDED.put(tx, afterCall(parts, now, failure))
      if (why !== undefined) await CODES.put(tx, { ...code, last_error: why })
      const type = failure === undefined ? 'esim.cancel_told' : 'esim.cancel_failed'
      if (failure === undefined || failure.refusal !== undefined)
        tx.event({ type, subject: row.token, data: { provider: row.provider, imsi_sha256_12: code.hash } })
    })
    if (why !== undefined)
      context.log.warn(
        { provider: row.provider, code: row.token, why },
        'a provider was not told that a code is revoked',
      )
  }
  return problem
}

function afterCall(
  { context }: EsimParts,
  row: ProvidedRow,
  failure: ProviderFailure | undefined,
): ProvidedRow {
  if (failure === undefined) return { ...row, cancel: 'done' }
  if (failure.refusal !== undefined) return { ...row, cancel: 'refused' }
  const cancel_failures = row.cancel_failures + 1
  const cancel_next_at_ms = Math.floor(context.clock.nowMs()) + backoffMs(BACKOFF, cancel_failures)
  return { ...row, cancel_failures, cancel_next_at_ms }
}

/** Undefined: the provider has done it. */
async function cancelled(
  parts: EsimParts,
  row: ProvidedRow,
  signal: AbortSignal,
): Promise<ProviderFailure | undefined> {
  const { context, issuer, vault } = parts
  const provider = await PROVIDERS.find(context.db, { id: row.provider })
  const code = await CODES.find(context.db, { token: row.token })
  if (provider === undefined || code === undefined) return undefined
  // Hashes of rows are hashes.
  const imsi = code.hash as ImsiHash
  const [card] = await issuer.cards([imsi])
  const iccid = card === undefined ? undefined : await iccidOf(parts, imsi)
  if (iccid === undefined) return undefined
  const [matchingId = ''] = Buffer.from(vault.open(code.matching_sealed, `esim_smdp_code/${row.token}`))
    .toString('latin1')
    .split('$')
  const members = {
    iccid: iccidOut(iccid),
    ...(matchingId !== '' && { matchingId }),
    finalProfileStatusIndicator: card?.state === 'revoked' ? 'Unavailable' : 'Available',
  }
  return await tell(parts, provider, row, members, signal)
}

async function tell(
  { vault }: EsimParts,
  provider: ProviderRow,
  { token }: ProvidedRow,
  members: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ProviderFailure | undefined> {
  try {
    await callProvider(vault, provider, { name: 'cancelOrder', id: `${token}-cancelOrder`, members }, signal)
    return undefined
  } catch (error) {
    if (error instanceof ProviderFailure) return error
    throw error
  }
}
