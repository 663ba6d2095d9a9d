import { eidOfRow, shownEid } from '../store/euicc-store.ts'
import type { EuiccRow } from '../store/rows.ts'
import type { Es9Core } from './core.ts'

/** Tells of an eUICC that has to wait: somebody may be trying codes. */
export async function tellLocked({ parts }: Es9Core, row: EuiccRow): Promise<void> {
  const { log } = parts.context
  const data = {
    eid_sha256_12: shownEid(eidOfRow(parts.vault, row)),
    eid_last4: row.eid_last4,
    failures: row.failures,
    locked_s: Math.ceil(((row.locked_until_ms ?? 0) - row.last_seen_ms) / 1_000),
  }
  log.warn(data, 'a device has failed too often and has to wait')
  await parts.context.observe(async (tx) =>
    tx.event({ type: 'esim.locked', subject: data.eid_sha256_12, data }),
  )
}
