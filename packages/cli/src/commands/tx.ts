import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc tx arm|disarm|status` */
export function addTxCommands(program: Command, terminal: Terminal): void {
  const tx = program.command('tx').description('the TX gate')
  restCommand(tx, 'arm <profile>', 'let the radio transmit with a configured profile (ran.profiles)').action(
    async (profile: string, options: ConnectionOptions) => {
      const body = { arm: true, profile_id: profile }
      const answer = await connect(terminal, options).change('POST', '/v1/tx/arm', body)
      printRecord(terminal, options.json === true, answer.body)
    },
  )
  restCommand(tx, 'disarm', 'stop the transmitter; answers when it is silent').action(
    async (options: ConnectionOptions) => {
      const answer = await connect(terminal, options).change('POST', '/v1/tx/disarm')
      printRecord(terminal, options.json === true, answer.body)
    },
  )
  restCommand(tx, 'status', 'the three layers and whether TX is armed').action(
    async (options: ConnectionOptions) => {
      const answer = await connect(terminal, options).get('/v1/tx/arm')
      printRecord(terminal, options.json === true, answer.body)
    },
  )
}
