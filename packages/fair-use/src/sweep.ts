import type { Context, ImsiHash } from '@steeple/contracts'
import type { FairUseParts } from './parts.ts'
import { quotaHashes, removeQuota } from './store/quota-store.ts'
import { pruneReports } from './store/report-store.ts'
import { pruneUsed } from './store/used-store.ts'

const DAY_MS = 86_400_000
/** How long a report_id is remembered, days. A report that names an earlier time is refused. */
export const REPORT_DAYS = 35
/** The same, ms. */
export const REPORT_MS: number = REPORT_DAYS * DAY_MS
/** Clocks of those who report may be ahead by so much: by their time a report is so much younger. */
export const AHEAD_MS = 300_000
/** Reports of one transaction: others wait as long. */
const CHUNK = 1_000
/** Counts of periods that are over are kept for what comes late. */
const KEPT = { day: 7 * DAY_MS, week: 21 * DAY_MS, month: 93 * DAY_MS } as const

/** Forgets what nobody needs any more; nothing while the clock is in doubt. */
export async function sweep(parts: FairUseParts, signal: AbortSignal): Promise<void> {
  const { context, clock } = parts
  const { atMs, isDoubted } = clock.now()
  if (isDoubted) return
  for (const kind of ['day', 'week', 'month'] as const)
    await context.db.write((tx) => pruneUsed(tx, kind, atMs - KEPT[kind]))
  while (!signal.aborted && (await pruned(context, atMs - REPORT_MS - AHEAD_MS)) === CHUNK);
  await forgetGone(parts, signal)
}

/** SIMs that were revoked have no quota any more. */
async function forgetGone(parts: FairUseParts, signal: AbortSignal): Promise<void> {
  const { db } = parts.context
  let after = ''
  for await (const hashes of quotaHashes(db, CHUNK)) {
    if (signal.aborted) return
    const last = hashes.at(-1) ?? ''
    const kept = await withQuotaUpTo(parts, after, last)
    const gone: string[] = []
    // One that was just given a quota again may be missing: it is looked at itself.
    for (const hash of hashes) if (!kept.has(hash) && (await isGone(parts, hash))) gone.push(hash)
    if (gone.length > 0)
      await db.write(async (tx) => {
        for (const hash of gone) await removeQuota(tx, hash)
      })
    after = last
  }
}

async function isGone({ subscribers }: FairUseParts, hash: ImsiHash): Promise<boolean> {
  // A damaged row is left to whoever mends it.
  return await subscribers.find(hash).then(
    (view) => view === undefined || view.state === 'revoked',
    () => false,
  )
}

async function withQuotaUpTo(
  { subscribers }: Pick<FairUseParts, 'subscribers'>,
  after: string,
  last: string,
): Promise<ReadonlySet<string>> {
  const kept = new Set<string>()
  for (let from = after; ; ) {
    const page = await subscribers.withQuota(from, CHUNK)
    for (const { imsi } of page) kept.add(imsi)
    from = page.at(-1)?.imsi ?? last
    if (page.length < CHUNK || from >= last) return kept
  }
}

async function pruned({ db }: Pick<Context, 'db'>, beforeMs: number): Promise<number> {
  return await db.write((tx) => pruneReports(tx, beforeMs, CHUNK))
}
