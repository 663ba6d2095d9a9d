import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { printList } from '../output/print.ts'
import { moment } from '../output/table.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'

interface AuditOptions extends ListOptions {
  readonly action?: string
  readonly principal?: string
  readonly target?: string
  readonly from?: string
  readonly to?: string
}

/** `svc audit list|verify` */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit').description('who did what')
  restCommand(audit, 'list', 'entries, newest first')
    .option('--action <action>', 'such as policy.update')
    .option('--principal <id>', 'who did it')
    .option('--target <target>', 'what it was done to')
    .option('--from <time>', 'RFC 3339, such as 2026-01-31T00:00:00Z')
    .option('--to <time>', 'RFC 3339')
    .addOption(limitOption())
    .action((options: AuditOptions) => list(terminal, options))
  placeOptions(
    localCommand(audit, 'verify', 'check the chain of the store on this machine (read-only)'),
  ).action(async (options: PlaceOptions & ConnectionOptions) => {
    const { verifyAudit } = await import('../offline/verify-audit.ts')
    await verifyAudit(terminal, options)
  })
}

async function list(terminal: Terminal, options: AuditOptions): Promise<void> {
  const { action, principal, target, from, to } = options
  const entries = await connect(terminal, options).list('/v1/audit', 'entries', options.limit, {
    action,
    principal,
    target,
    from,
    to,
  })
  printList(terminal, options.json === true, entries, [
    { title: 'SEQ', value: (row) => row.seq },
    { title: 'AT', value: (row) => moment(row.at), fit: 'whole' },
    { title: 'WHO', value: who },
    { title: 'ACTION', value: (row) => row.action, fit: 'whole' },
    { title: 'TARGET', value: (row) => row.target },
    { title: 'OUTCOME', value: (row) => row.outcome },
    { title: 'REQUEST', value: (row) => row.request_id },
  ])
}

function who(row: Json): unknown {
  const principal = row.principal
  return isObject(principal) ? `${String(principal.kind)}:${String(principal.name)}` : principal
}
