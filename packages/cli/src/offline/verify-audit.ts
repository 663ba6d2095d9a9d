import type { AuditTrail } from '@steeple/contracts'
import { jsonText } from '../output/print.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'
import { withStore } from './with-store.ts'

/** `svc audit verify`: reads the store of this machine, beside a running service too; exit code 1 when it is broken. */
export async function verifyAudit(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'read', async (store) => {
    const { ok, checked, firstBroken, reason } = await store.audit.verify()
    if (options.json === true)
      terminal.out(jsonText({ ok, checked, first_broken: firstBroken ?? null, reason: reason ?? null }))
    else if (ok) terminal.out(`ok: ${checked} entries, the chain is whole\n${await beginningOf(store.audit)}`)
    else terminal.err(`${brokenAt(firstBroken)}: ${reason ?? 'the chain does not fit'}\n`)
    if (!ok) terminal.answer(1)
  })
}

function brokenAt(seq: number | undefined): string {
  return seq === undefined ? 'broken' : `broken at entry ${seq}`
}

/** A line about a trail that began on a node which had one before; empty for any other. */
async function beginningOf(audit: AuditTrail): Promise<string> {
  const [entry] = await audit.list({ action: 'audit.begin' }, 1, undefined)
  if (entry?.seq !== 1) return ''
  const { earlier_trails: count } = entry.detail
  return `it began anew at ${new Date(entry.atMs).toISOString()}; earlier trails of this node: ${count}\n`
}
