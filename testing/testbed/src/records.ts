import type { AuditEntry } from '@steeple/contracts'
import type { Kernel, OutboxEvent } from '@steeple/kernel'

const PAGE = 500

/** The whole audit trail, newest first. */
export async function readAudit(kernel: Kernel): Promise<readonly AuditEntry[]> {
  const all: AuditEntry[] = []
  for (;;) {
    const page = await kernel.audit.list({}, PAGE, all.at(-1)?.seq)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/** Every event that is kept, oldest first. */
export async function readEvents(kernel: Kernel): Promise<readonly OutboxEvent[]> {
  const all: OutboxEvent[] = []
  for (;;) {
    const page = await kernel.outbox.after(all.at(-1)?.id ?? 0, PAGE)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}
