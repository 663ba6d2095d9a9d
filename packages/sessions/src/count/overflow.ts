import { sumOctets } from '@steeple/contracts'
import type { Session } from '../join/session.ts'
import type { Share } from '../ledger/ledger.ts'
import type { HeldRow } from '../store/tables.ts'
import type { Moved } from './growth.ts'
import { MARGIN_MS } from './holders.ts'

/**
 * Whose octets are not told apart, as the key of a held row: no address has that name. The row has no octets, and says that in
 * its span some did not wait for their session: there was no room.
 */
const OTHERS = JSON.stringify({ by: 'address', address: 'others' })

/** Whether a row is such a mark. */
export function isOverflow({ whose }: HeldRow): boolean {
  return whose === OTHERS
}

/** Octets of one source that there was no room for: one row, however many addresses they are of. */
export function overflowRow(
  source: string,
  moved: Moved,
  before: HeldRow | undefined,
  nowMs: number,
): HeldRow {
  return {
    source,
    whose: OTHERS,
    from_ms: Math.min(moved.fromMs, before?.from_ms ?? moved.fromMs),
    to_ms: Math.max(moved.toMs, before?.to_ms ?? moved.toMs),
    up_bytes: sumOctets(moved.upBytes, before?.up_bytes ?? 0),
    down_bytes: sumOctets(moved.downBytes, before?.down_bytes ?? 0),
    is_incomplete: 1,
    held_at_ms: nowMs,
  }
}

/** What is kept of them: where they are from and when. */
export function markOf(row: HeldRow): HeldRow {
  return { ...row, up_bytes: 0, down_bytes: 0 }
}

/** What says that octets of these sessions, which have only just become known, may be among those that did not wait. */
export function sharesOf(
  marks: readonly HeldRow[],
  named: readonly Session[],
): readonly { readonly session: Session; readonly share: Share }[] {
  return [...Map.groupBy(marks, ({ source }) => source)].flatMap(([source, rows]) => {
    const first = Math.min(...rows.map((row) => row.from_ms))
    const toMs = Math.max(...rows.map((row) => row.to_ms))
    return named
      .filter(({ sinceMs, endedAtMs }) => sinceMs < toMs + MARGIN_MS && (endedAtMs ?? toMs) >= first)
      .map((session) => {
        const fromMs = Math.max(first, Math.min(session.sinceMs, toMs - 1))
        const { imsi, apn: lane } = session
        return {
          session,
          share: { imsi, source, lane, fromMs, toMs, upBytes: 0, downBytes: 0, isIncomplete: true },
        }
      })
  })
}
