import type { ImsiHash, Tx } from '@steeple/contracts'
import { kindOf } from './account.ts'
import type { FairUseParts } from './parts.ts'
import type { CalendarPeriod, Span } from './periods.ts'
import type { QuotaRow } from './store/quota-store.ts'
import { putUsed, usedSince } from './store/used-store.ts'

/** No clock shows more. */
const LATEST_MS = Date.UTC(9999, 11, 31)

/**
 * Makes the totals of a SIM from the ledger: those of the present period, in a doubt of the clock those of the later ones too, which
 * count in it until then, and for a quota without a period those of the month before. In one transaction with the reading, so that
 * nothing is counted in between.
 */
export async function recount(parts: FairUseParts, tx: Tx, quota: QuotaRow): Promise<void> {
  const { calendar, now } = parts.clock
  const { atMs, isDoubted } = now()
  const kind = kindOf(quota.period)
  const span = calendar.spanOf(kind, atMs)
  await recountSpan(parts, tx, quota.hash, kind, span)
  if (isDoubted) await recountLater(parts, tx, quota.hash, kind, { startMs: span.endMs, endMs: LATEST_MS })
  if (quota.period !== 'none' || span.startMs <= quota.first_ms) return
  await recountSpan(parts, tx, quota.hash, kind, calendar.spanOf(kind, span.startMs - 1))
}

/** Those periods in a span that have usage: a machine's clock may have leapt over thousands that have none. */
async function recountLater(
  parts: FairUseParts,
  tx: Tx,
  hash: ImsiHash,
  kind: CalendarPeriod,
  { startMs, endMs }: Span,
): Promise<void> {
  const { calendar } = parts.clock
  const all = await parts.ledger.totalsIn(tx, hash, startMs, endMs)
  if (all.upBytes + all.downBytes === 0 && !all.isIncomplete) return
  const first = calendar.spanOf(kind, startMs)
  if (first.endMs >= endMs) return await recountSpan(parts, tx, hash, kind, first)
  const middle = calendar.spanOf(kind, startMs + (endMs - startMs) / 2)
  const middleMs = middle.startMs > startMs ? middle.startMs : middle.endMs
  await recountLater(parts, tx, hash, kind, { startMs, endMs: middleMs })
  await recountLater(parts, tx, hash, kind, { startMs: middleMs, endMs })
}

/**
 * The greater of what was counted and what the ledger has: this plugin may have been away, and the ledger may have
 * forgotten what is older than its retention.
 */
async function recountSpan(
  { context, ledger }: FairUseParts,
  tx: Tx,
  hash: ImsiHash,
  kind: CalendarPeriod,
  { startMs, endMs }: Span,
): Promise<void> {
  const own = context.db.join(tx)
  const { upBytes, downBytes, isIncomplete } = await ledger.totalsIn(tx, hash, startMs, endMs)
  const rows = (await usedSince(own, [hash], startMs)).get(hash) ?? []
  const known = rows.find((row) => row.kind === kind && row.starts_at_ms === startMs)
  const isMore = upBytes + downBytes > (known?.up_bytes ?? 0) + (known?.down_bytes ?? 0)
  const isNewlyIncomplete = isIncomplete && known?.is_incomplete !== 1
  if (!isMore && !isNewlyIncomplete) return
  await putUsed(own, {
    hash,
    kind,
    starts_at_ms: startMs,
    up_bytes: isMore ? upBytes : (known?.up_bytes ?? 0),
    down_bytes: isMore ? downBytes : (known?.down_bytes ?? 0),
    is_incomplete: isIncomplete || known?.is_incomplete === 1 ? 1 : 0,
    updated_at_ms: Math.floor(context.clock.nowMs()),
  })
}
