import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc clock show`, `svc clock confirm` */
export function addClockCommands(program: Command, terminal: Terminal): void {
  const clock = program
    .command('clock')
    .description("the machine's clock, and whether the service believes it")
  restCommand(clock, 'show', 'what it says, and why it is not believed; exit code 1 when it is not').action(
    async (options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get('/v1/clock')
      printRecord(terminal, options.json === true, body)
      if (body.status !== 'plausible') terminal.answer(1)
    },
  )
  restCommand(clock, 'confirm', 'say that it is right: what is due by it happens at once')
    .option('--time <time>', 'the time as you know it, RFC 3339; refused when the clock is a minute off it')
    .action(async (options: ConnectionOptions & { readonly time?: string }) => {
      const given = options.time === undefined ? {} : { time: options.time }
      const { body } = await connect(terminal, options).change('POST', '/v1/clock/confirm', given)
      printRecord(terminal, options.json === true, body)
    })
}
