import type { Context, PolicyHistory, PolicyRevision, RadioProfile, TxInterval } from '@steeple/contracts'
import { changedKeys } from './bundle/changed-keys.ts'
import {
  type BundleRow,
  bundlesWithin,
  endedIntervals,
  type IntervalRow,
  intervalsWithin,
  newestBundleBefore,
  removeInterval,
} from './store.ts'

/** What the policy was and when TX was armed, for whoever keeps a record. */
export function policyHistory({ db }: Pick<Context, 'db'>): PolicyHistory {
  return {
    revisions: async (span, after, limit) => {
      const rows = await bundlesWithin(db, span, after, limit)
      const [first] = rows
      let before = first === undefined ? undefined : await newestBundleBefore(db, first.revision)
      return rows.map((row) => {
        const revision = revisionOf(row, before)
        before = row
        return revision
      })
    },
    intervals: async (span, after, limit) => (await intervalsWithin(db, span, after, limit)).map(intervalOf),
    takeIntervals: async (tx, endedBeforeMs, limit) => {
      const own = db.join(tx)
      const rows = await endedIntervals(own, endedBeforeMs, limit)
      for (const { id } of rows) await removeInterval(own, id)
      return rows.map(intervalOf)
    },
  }
}

function revisionOf(row: BundleRow, before: BundleRow | undefined): PolicyRevision {
  const changed =
    before?.revision === row.revision - 1
      ? changedKeys(JSON.parse(before.content), JSON.parse(row.content)).map(({ key }) => key)
      : []
  return { revision: row.revision, atMs: row.updated_at_ms, by: row.updated_by, changed }
}

function intervalOf(row: IntervalRow): TxInterval {
  return {
    id: row.id,
    profileId: row.profile_id,
    // Written by `startArm` alone, from a RadioProfile.
    profile: JSON.parse(row.profile) as RadioProfile,
    country: row.country,
    licenseReference: row.license_reference,
    licenseHolder: row.license_holder,
    startedAtMs: row.started_at_ms,
    startedBy: row.started_by,
    endedAtMs: row.ended_at_ms,
    endedBy: row.ended_by,
    endReason: row.end_reason,
  }
}
