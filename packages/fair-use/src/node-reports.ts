import {
  type ComponentHealth,
  defineError,
  type ErrorFactory,
  type ImsiHash,
  isServiceError,
  type Principal,
  peeringRef,
  type RecordedSession,
  sessionHistoryRef,
  type Tx,
} from '@steeple/contracts'
import type { FairUseParts } from './parts.ts'
import { type ReportRow, reportedBy } from './store/report-store.ts'

/** A member has told of more, or of another SIM, than it can know of. */
export const usageImplausible: ErrorFactory = defineError(
  'usage_implausible',
  409,
  'not counted: node %s cannot know this usage of SIM %s: %s; check its clock and routes',
)

/** No phone of a single carrier is faster: 1 Gbit/s. Octets a second. */
const LINK_BYTES_PER_S = 125_000_000
/** Collectors see the end of a session, and clocks, a little apart. */
const SLACK_MS = 60_000
/** How long health tells of a refusal. */
const TOLD_MS = 3_600_000
/** Members that are remembered; who has no room stands in the trail all the same. */
const MOST_TOLD = 100

interface Refusal {
  count: number
  lastMs: number
  reason: string
}

/** Judges what members of the mesh say that SIMs have used. */
export interface NodeReports {
  /** The session at that node which a report is of. Throws `usage_implausible` when there is none. */
  sessionOf(report: ReportRow, node: Principal): Promise<RecordedSession>
  /** Throws `usage_implausible` for more than the link carries since that session began, with all that the node told before. */
  bound(tx: Tx, report: ReportRow, session: RecordedSession, node: Principal): Promise<void>
  /** Runs `work`; its refusal of a report is told in health for an hour, and in the audit trail once an hour for each node. */
  judged<T>(report: ReportRow, node: Principal, work: () => Promise<T>): Promise<T>
  health(): readonly ComponentHealth[]
}

/** Reports of members: of sessions whose address lies behind that member, and no faster than a link. */
export function nodeReports({ context, metrics }: Pick<FairUseParts, 'context' | 'metrics'>): NodeReports {
  const refusals = new Map<string, Refusal>()
  const note = async (report: ReportRow, node: Principal, reason: string): Promise<void> => {
    const nowMs = context.clock.nowMs()
    const before = refusals.get(node.id)
    const isFirst = before === undefined || nowMs - before.lastMs > TOLD_MS
    if (before !== undefined || refusals.size < MOST_TOLD)
      refusals.set(node.id, { count: isFirst ? 1 : before.count + 1, lastMs: nowMs, reason })
    metrics.reported('refused')
    if (!isFirst) return
    context.healthChanged()
    await context.mutate(node, 'usage.refuse', report.hash, async (tx) => {
      tx.audit({ detail: { reason, up_bytes: report.up_bytes, down_bytes: report.down_bytes } })
    })
  }
  return {
    sessionOf: async (report, node) => {
      const { hash, taken_at_ms: atMs } = report
      const span = { fromMs: atMs - SLACK_MS, toMs: atMs + 1 }
      // The hash of a SIM that there is.
      const sessions = (await context.maybe(sessionHistoryRef)?.of?.(hash as ImsiHash, span)) ?? []
      const mesh = context.maybe(peeringRef)
      for (const session of sessions)
        if (session.address !== null && (await mesh?.carries?.(node.id, session.address)) === true)
          return session
      throw usageImplausible(node.id, hash, 'no session had an address approved for it')
    },
    bound: async (tx, report, session, node) => {
      const { startedAtMs, endedAtMs } = session
      // All of the session, in whatever order it is told.
      const untilMs = (endedAtMs ?? context.clock.nowMs()) + SLACK_MS
      const all = await reportedBy(tx, report, startedAtMs - SLACK_MS, untilMs)
      const most = Math.floor((Math.max(0, untilMs - startedAtMs) / 1_000) * LINK_BYTES_PER_S)
      if (all.upBytes <= most && all.downBytes <= most) return
      throw usageImplausible(node.id, report.hash, `more than ${most} octets since its session began`)
    },
    judged: async (report, node, work) => {
      try {
        return await work()
      } catch (error) {
        if (isServiceError(error) && error.code === usageImplausible.code)
          await note(report, node, error.message)
        throw error
      }
    },
    health: () => {
      const nowMs = context.clock.nowMs()
      const told = [...refusals].filter(([, { lastMs }]) => nowMs - lastMs <= TOLD_MS)
      if (told.length === 0) return []
      const words = told.map(([id, { count, reason }]) => `${count} of node ${id}, last: ${reason}`)
      const detail = `reports of usage were refused: ${words.join('; ')}`
      return [{ name: 'usage_reports', kind: 'feature', status: 'degraded', detail }]
    },
  }
}
