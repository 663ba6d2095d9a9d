import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { askLines, LOGIN_QUESTIONS } from '../output/ask-lines.ts'
import { printRecord } from '../output/print.ts'
import { showCredentials } from '../output/show-credentials.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

const PATH = '/v1/auth/recovery-codes'

/** `svc recovery …`: the recovery codes of who has logged in. */
export function addRecoveryCommands(program: Command, terminal: Terminal): void {
  const recovery = program.command('recovery').description('recovery codes of your own, after svc login')
  restCommand(recovery, 'left', 'how many of your recovery codes are left').action(
    (options: ConnectionOptions) => left(terminal, options),
  )
  restCommand(
    recovery,
    'new',
    'other recovery codes for yourself, shown once; asks for password and code (a line each on standard input where it is no terminal)',
  ).action((options: ConnectionOptions) => draw(terminal, options))
}

async function left(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get(PATH)
  printRecord(terminal, options.json === true, body)
}

async function draw(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
  const { body } = await client.change('POST', PATH, { password, code })
  await showCredentials(terminal, options.json === true, body)
}
