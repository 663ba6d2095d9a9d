import type { AuditTrail } from '@steeple/contracts'

/** The newest entry of the audit trail: its place, time and hash, and nothing of what it says. */
export async function auditHead(audit: Pick<AuditTrail, 'list'>): Promise<object> {
  const [newest] = await audit.list({}, 1, undefined)
  if (newest === undefined) return { head: null }
  const { seq, atMs, hash, prevHash } = newest
  return { head: { seq, at: new Date(atMs).toISOString(), hash, prev_hash: prevHash } }
}
