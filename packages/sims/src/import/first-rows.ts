import { timestampFromMs } from '@steeple/contracts'
import type { Ready } from './import-rows.ts'

/** Rows that a dry run shows as it understands them. */
const FIRST_ROWS = 5

/** Whether a row is one of those. */
export function isFirst({ planned }: Ready): boolean {
  return planned.number <= FIRST_ROWS
}

/** What can be compared with the file, in its order, and no secret. */
export function firstRows(rows: readonly Ready[]): readonly object[] {
  const inOrder = [...rows].sort((one, other) => one.planned.number - other.planned.number)
  return inOrder.map(({ planned, row }) => {
    const { hash, iccid_last4, msisdn, profile, apns, label, expires_at_ms } = row
    return {
      row: planned.number,
      line: planned.place.line,
      imsi_sha256_12: hash,
      iccid_last4,
      msisdn,
      profile,
      apns: JSON.parse(apns),
      label,
      expires_at: timestampFromMs(expires_at_ms),
    }
  })
}
