import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { jsonText } from '../output/print.ts'
import { saveDownload } from '../output/save-download.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { localCommand, placeOptions, restCommand } from './options.ts'

interface ExportOptions extends ConnectionOptions {
  readonly from?: string
  readonly to?: string
  readonly kinds?: string
  readonly output?: string
}

/** `svc compliance export|erasures|verify` */
export const COMPLIANCE_COMMANDS: readonly CommandEntry[] = [
  { group: 'compliance', summary: "the regulator's file" },
  (program, terminal) =>
    restCommand(program, 'compliance export', 'save the file, signed by the node')
      .option('--from <time>', 'from then on: RFC 3339, such as 2026-01-31T00:00:00Z')
      .option('--to <time>', 'before then; until now when absent')
      .option('--kinds <kinds>', 'lifecycle, sim, tx, policy, session, export, checkpoint; with commas')
      .option('-o, --output <file>', 'where to; its name is made of node and time when absent')
      .action((options: ExportOptions) => save(terminal, options)),
  {
    usage: 'compliance erasures',
    summary: 'SIMs whose holder is forgotten, but for HSS and core',
    operation: 'GET /v1/compliance/erasures',
    list: {
      key: 'erasures',
      columns: [
        { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
        { title: 'ASKED', value: 'asked_at' },
        { title: 'BY', value: 'asked_by' },
        { title: 'WAITS FOR', value: 'waits_for', fit: 'wrap' },
      ],
    },
  },
  (program, terminal) =>
    placeOptions(
      localCommand(
        program,
        'compliance verify <file>',
        'check a file without the service: form, rows, signature',
      ),
    )
      .option(
        '--trust <file>',
        "PEM: the CA of the node, or the node's certificate; those of this machine when absent",
      )
      .action(async (file: string, options: PlaceOptions & VerifyOptions) => {
        const { verifyExport } = await import('../offline/verify-export.ts')
        await verifyExport(terminal, file, options)
      }),
]

interface VerifyOptions {
  readonly trust?: string
  readonly json?: boolean
}

async function save(terminal: Terminal, options: ExportOptions): Promise<void> {
  const { from, to, kinds } = options
  const response = await connect(terminal, options).open('/v1/compliance/export', {
    query: { from, to, kinds },
  })
  const target = { file: options.output, fallback: 'svc-compliance.csv' }
  const { path, bytes } = await saveDownload(terminal, 'export', response, target)
  if (options.json === true) terminal.out(jsonText({ file: path, bytes }))
  else terminal.out(`${path}: ${bytes} bytes\n`)
}
