import type { Command } from 'commander'
import { baseUrl, type ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { consoleLink } from '../console-link.ts'
import { printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc console` */
export function addConsoleCommand(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'console',
    'a link that opens the console in a browser, once, within five minutes',
  ).action(async (options: ConnectionOptions) => {
    const { data } = await connect(terminal, options).post('/v1/auth/links')
    const link = consoleLink(baseUrl(terminal, options).origin, data.token)
    printRecord(terminal, options, { link, expires_at: data.expires_at })
  })
}
