import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { jsonText, printList } from '../output/print.ts'
import { saveDownload } from '../output/save-download.ts'
import { moment } from '../output/table.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'

interface ExportOptions extends ConnectionOptions {
  readonly from?: string
  readonly to?: string
  readonly kinds?: string
  readonly output?: string
}

/** `svc compliance export|erasures|verify` */
export function addComplianceCommands(program: Command, terminal: Terminal): void {
  const compliance = program.command('compliance').description("the regulator's file")
  restCommand(compliance, 'export', 'save the file, signed by the node')
    .option('--from <time>', 'from then on: RFC 3339, such as 2026-01-31T00:00:00Z')
    .option('--to <time>', 'before then; until now when absent')
    .option('--kinds <kinds>', 'lifecycle, sim, tx, policy, session, export, checkpoint; with commas')
    .option('-o, --output <file>', 'where to; its name is made of node and time when absent')
    .action((options: ExportOptions) => save(terminal, options))
  restCommand(compliance, 'erasures', 'SIMs whose holder is forgotten, but for HSS and core')
    .addOption(limitOption())
    .action((options: ListOptions) => erasures(terminal, options))
  placeOptions(
    localCommand(compliance, 'verify <file>', 'check a file without the service: form, rows, signature'),
  )
    .option(
      '--trust <file>',
      "PEM: the CA of the node, or the node's certificate; those of this machine when absent",
    )
    .action(async (file: string, options: PlaceOptions & VerifyOptions) => {
      const { verifyExport } = await import('../offline/verify-export.ts')
      await verifyExport(terminal, file, options)
    })
}

async function erasures(terminal: Terminal, options: ListOptions): Promise<void> {
  const found = await connect(terminal, options).list('/v1/compliance/erasures', 'erasures', options.limit)
  printList(terminal, options.json === true, found, [
    { title: 'SIM', value: (row) => row.imsi_sha256_12, fit: 'whole' },
    { title: 'ASKED', value: (row) => moment(row.asked_at) },
    { title: 'BY', value: (row) => row.asked_by },
    { title: 'WAITS FOR', value: (row) => row.waits_for, fit: 'wrap' },
  ])
}

interface VerifyOptions {
  readonly trust?: string
  readonly json?: boolean
}

async function save(terminal: Terminal, options: ExportOptions): Promise<void> {
  const { from, to, kinds } = options
  const response = await connect(terminal, options).download('/v1/compliance/export', {}, { from, to, kinds })
  const target = { file: options.output, fallback: 'svc-compliance.csv' }
  const { path, bytes } = await saveDownload(terminal, 'export', response, target)
  if (options.json === true) terminal.out(jsonText({ file: path, bytes }))
  else terminal.out(`${path}: ${bytes} bytes\n`)
}
