import type { AnswerOf } from '@steeple/client'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { jsonText } from '../output/print.ts'
import { printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

interface ForgetOptions extends ConnectionOptions {
  readonly revoke?: boolean
  readonly withoutCore?: boolean
  readonly reason?: string
}

/** `svc sim forget HASH` */
export function addForgetCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sim forget <hash>', 'erase what is known of the holder of a SIM, for good')
    .option('--revoke', 'revoke the SIM first if it is in use')
    .option(
      '--without-core',
      'wait for HSS and core no more: they are gone for good; for a SIM that is revoked',
    )
    .option('--reason <text>', 'for the audit trail: the number of the request, and nothing of the person')
    .action(async (hash: string, options: ForgetOptions) => {
      const { revoke, reason, withoutCore: without_core } = options
      const { data } = await connect(terminal, options).post('/v1/sims/{imsi}/forget', {
        path: { imsi: simHash(hash) },
        body: { revoke, without_core, reason },
      })
      terminal.out(options.json === true ? jsonText(data) : `${hash}: ${wordsOf(data)}\n`)
    })
}

function wordsOf({ status, waits_for: why }: AnswerOf<'POST', '/v1/sims/{imsi}/forget'>): string {
  if (status === 'erased') return 'erased; what a core still has is to be removed there'
  const what = why === null ? '' : ` (${printable(why)})`
  return `erased but for its IMSI, and that as soon as HSS and core have let it go${what}; svc compliance erasures lists it till then`
}
