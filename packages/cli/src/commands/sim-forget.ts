import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { jsonText } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'
import { simPath } from './sim-columns.ts'

interface ForgetOptions extends ConnectionOptions {
  readonly revoke?: boolean
  readonly reason?: string
}

/** `svc sim forget HASH` */
export function addForgetCommand(sim: Command, terminal: Terminal): void {
  restCommand(sim, 'forget <hash>', 'erase what is known of the holder of a SIM, for good')
    .option('--revoke', 'revoke the SIM first if it is in use')
    .option('--reason <text>', 'for the audit trail: the number of the request, and nothing of the person')
    .action(async (hash: string, options: ForgetOptions) => {
      const { revoke, reason } = options
      const path = `${simPath(hash)}/forget`
      const { body } = await connect(terminal, options).change('POST', path, { revoke, reason })
      if (options.json === true) terminal.out(jsonText(body))
      else
        terminal.out(
          `${hash}: erased as soon as HSS and core have let it go; svc sim show finds it no more then\n`,
        )
    })
}
