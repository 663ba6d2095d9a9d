import { msFromDuration } from '@steeple/contracts'
import type { AlertParts } from './parts.ts'
import { pruneAlerts } from './store/alert-store.ts'
import { backlogs, forgetTarget, pruneParked } from './store/delivery-store.ts'
import { pruneSilences } from './store/silence-store.ts'

const DAY_MS = 86_400_000
/** Alerts of one transaction: others wait as long. */
const CHUNK = 500
/** How long a message that was given up is kept. */
const PARKED_MS: number = 7 * DAY_MS

/** Forgets what nobody needs any more; nothing while the clock is in doubt. */
export async function sweep({ context, targets }: AlertParts, signal: AbortSignal): Promise<void> {
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = Math.floor(context.clock.nowMs())
  const before = nowMs - (msFromDuration(context.config.retention) ?? 90 * DAY_MS)
  while (!signal.aborted && (await context.db.write((tx) => pruneAlerts(tx, before, CHUNK))) === CHUNK);
  await context.db.write(async (tx) => {
    await pruneSilences(tx, nowMs)
    await pruneParked(tx, nowMs - PARKED_MS)
  })
  const names = new Set(targets.map(({ name }) => name))
  for (const target of (await backlogs(context.db)).keys()) {
    if (names.has(target)) continue
    const messages = await context.db.write((tx) => forgetTarget(tx, target))
    context.log.warn({ webhook: target, messages }, 'messages of a webhook that is gone are forgotten')
  }
}
