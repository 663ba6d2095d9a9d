import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject } from '../client/rest-client.ts'
import { jsonText } from '../output/print.ts'
import { printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'
import { simPath } from './sim-columns.ts'

interface ForgetOptions extends ConnectionOptions {
  readonly revoke?: boolean
  readonly withoutCore?: boolean
  readonly reason?: string
}

/** `svc sim forget HASH` */
export function addForgetCommand(sim: Command, terminal: Terminal): void {
  restCommand(sim, 'forget <hash>', 'erase what is known of the holder of a SIM, for good')
    .option('--revoke', 'revoke the SIM first if it is in use')
    .option(
      '--without-core',
      'wait for HSS and core no more: they are gone for good; for a SIM that is revoked',
    )
    .option('--reason <text>', 'for the audit trail: the number of the request, and nothing of the person')
    .action(async (hash: string, options: ForgetOptions) => {
      const { revoke, reason, withoutCore: without_core } = options
      const path = `${simPath(hash)}/forget`
      const { body } = await connect(terminal, options).change('POST', path, { revoke, without_core, reason })
      terminal.out(options.json === true ? jsonText(body) : `${hash}: ${wordsOf(body)}\n`)
    })
}

function wordsOf(answer: unknown): string {
  if (isObject(answer) && answer.status === 'erased')
    return 'erased; what a core still has is to be removed there'
  const what =
    isObject(answer) && typeof answer.waits_for === 'string' ? ` (${printable(answer.waits_for)})` : ''
  return `erased but for its IMSI, and that as soon as HSS and core have let it go${what}; svc compliance erasures lists it till then`
}
