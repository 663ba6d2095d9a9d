import {
  type AuditEntry,
  auditTrailRef,
  createPause,
  type Pause,
  type PolicyRevision,
  policyHistoryRef,
  type RadioProfile,
  type RecordedSession,
  sessionHistoryRef,
  type TimeSpan,
  type TxInterval,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { ExportRow } from '@steeple/regulator-file'
import { carriersOf } from '@steeple/telecom'
import type { ComplianceParts } from './parts.ts'
import { type CheckpointRow, checkpointsWithin, type MoveRow, moveNumbers, movesBetween } from './store.ts'

/** What a file can be about, in the order in which it tells of it. */
export const KINDS = ['lifecycle', 'sim', 'tx', 'policy', 'session', 'export', 'checkpoint'] as const
/** One of them. */
export type Kind = (typeof KINDS)[number]

/** Rows that are read at a time. */
const PAGE = 1_000
/** The audit action of an export. */
export const EXPORT_ACTION = 'compliance.export'

type Pages = AsyncGenerator<readonly ExportRow[]>
type Source = (parts: ComplianceParts, span: TimeSpan) => Pages

const SOURCES: Readonly<Record<Kind, Source>> = {
  lifecycle: (parts, span) => moves(parts, span, 'lifecycle'),
  sim: (parts, span) => moves(parts, span, 'sim'),
  tx: intervals,
  policy: revisions,
  session: sessions,
  export: exports,
  checkpoint: checkpoints,
}

/** The rows of these kinds in a span: kind by kind, in each the oldest first, a page at a time. Throws `store_corrupt`. */
export async function* rowsOf(
  parts: ComplianceParts,
  span: TimeSpan,
  kinds: readonly Kind[],
  signal: AbortSignal,
): Pages {
  const pause: Pause = createPause()
  for (const kind of KINDS) {
    if (!kinds.includes(kind)) continue
    for await (const page of SOURCES[kind](parts, span)) {
      signal.throwIfAborted()
      parts.count.rows(page.length)
      yield page
      await pause()
    }
  }
}

async function* moves({ context }: ComplianceParts, span: TimeSpan, kind: MoveRow['kind']): Pages {
  const { first, last } = await moveNumbers(context.db)
  for (let after = first - 1; after < last; after += PAGE)
    yield (await movesBetween(context.db, kind, span, after, after + PAGE)).map(moveRow)
}

function moveRow({ seq, at_ms, kind, subject, from_state, to_state, reason, how }: MoveRow): ExportRow {
  const spelled = (state: string | null): string | null => state?.replace('_', '-') ?? null
  return {
    kind,
    id: seq,
    at: timestampFromMs(at_ms),
    subject,
    from: spelled(from_state),
    to: spelled(to_state),
    reason,
    detail: how === 'move' ? null : how,
  }
}

async function* intervals({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(policyHistoryRef)
  for (let after: TxInterval | undefined; ; ) {
    const page: readonly TxInterval[] = await history.intervals(span, after, PAGE)
    yield page.map(intervalRow)
    after = page.at(-1)
    if (page.length < PAGE) return
  }
}

/** The band of a channel that is one of a single band: profiles need not name it. */
function bandOf({ technology, channel }: RadioProfile): string | undefined {
  const [carrier, ...others] = carriersOf(technology, channel)
  return others.length === 0 ? carrier?.band : undefined
}

/** A TX interval as it stands in a file. */
export function intervalRow(interval: TxInterval): ExportRow {
  const { profile } = interval
  const detail = { ended_by: interval.endedBy, tx_gain_db: profile.tx_gain_db ?? null }
  return {
    kind: 'tx',
    id: interval.id,
    at: timestampFromMs(interval.startedAtMs),
    until: timestampOrNull(interval.endedAtMs),
    reason: interval.endReason,
    by: interval.startedBy,
    profile: interval.profileId,
    technology: profile.technology,
    band: profile.band ?? bandOf(profile) ?? null,
    channel: profile.channel,
    bandwidth_mhz: profile.bandwidth_mhz,
    eirp_dbm: profile.eirp_dbm ?? null,
    country: interval.country,
    license_reference: interval.licenseReference,
    license_holder: interval.licenseHolder,
    detail: JSON.stringify(detail),
  }
}

async function* revisions({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(policyHistoryRef)
  for (let after = -1; ; ) {
    const page: readonly PolicyRevision[] = await history.revisions(span, after, PAGE)
    yield page.map(({ revision, atMs, by, changed }) => ({
      kind: 'policy',
      id: revision,
      at: timestampFromMs(atMs),
      by,
      detail: JSON.stringify(changed),
    }))
    after = page.at(-1)?.revision ?? after
    if (page.length < PAGE) return
  }
}

async function* sessions({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(sessionHistoryRef)
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Awaited<ReturnType<typeof history.page>> = await history.page(span, after, PAGE)
    yield page.sessions.map(sessionRow)
    after = page.next
  }
}

function sessionRow(session: RecordedSession): ExportRow {
  return {
    kind: 'session',
    id: session.id,
    at: timestampFromMs(session.startedAtMs),
    until: timestampOrNull(session.endedAtMs),
    subject: session.imsi,
    technology: session.technology,
    apn: session.apn,
    plmn: session.plmn,
    ue_address: session.address,
    cell: session.cell,
    up_bytes: session.upBytes,
    down_bytes: session.downBytes,
  }
}

async function* exports({ context }: ComplianceParts, { fromMs, toMs }: TimeSpan): Pages {
  const trail = context.use(auditTrailRef)
  const filter = { action: EXPORT_ACTION, fromMs, toMs: toMs - 1 }
  for (let after = 0; ; ) {
    const page: readonly AuditEntry[] = await trail.listAfter(filter, PAGE, after)
    yield page.map(({ seq, atMs, principal: { kind, id, name }, outcome, detail }) => ({
      kind: 'export',
      id: seq,
      at: timestampFromMs(atMs),
      reason: outcome,
      by: name === id ? `${kind}:${id}` : `${kind}:${id}/${name}`,
      detail: JSON.stringify(detail),
    }))
    after = page.at(-1)?.seq ?? after
    if (page.length < PAGE) return
  }
}

async function* checkpoints({ context }: ComplianceParts, span: TimeSpan): Pages {
  for (let after = 0; ; ) {
    const page: readonly CheckpointRow[] = await checkpointsWithin(context.db, span, after, PAGE)
    yield page.map(({ id, at_ms, before_ms, first_id, last_id, kind, removed, sha256, signature }) => ({
      kind: 'checkpoint',
      id,
      at: timestampFromMs(at_ms),
      until: timestampFromMs(before_ms),
      from: first_id,
      to: last_id,
      reason: 'retention',
      detail: JSON.stringify({ of: kind, removed, sha256, signature }),
    }))
    after = page.at(-1)?.id ?? after
    if (page.length < PAGE) return
  }
}
