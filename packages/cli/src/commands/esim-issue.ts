import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { fields, moment, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { issueBatch } from './esim-issue-batch.ts'
import { type NewSimOptions, newSimBody, newSimOptions } from './new-sims.ts'
import { restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

interface IssueOptions extends ConnectionOptions, NewSimOptions {
  readonly batch?: string
  readonly wait?: boolean
  readonly expiresIn?: string
  readonly confirmationCode?: string
  readonly eid?: string
  readonly ci?: string
  readonly simExpiresIn?: string
  readonly simExpiresAt?: string
}

/** `svc esim issue [HASH]` */
export function addEsimIssue(esim: Command, terminal: Terminal): void {
  newSimOptions(
    restCommand(
      esim,
      'issue [hash]',
      'an activation code: for this SIM, for a batch, or with new SIMs when neither is named',
    ),
  )
    .option('--batch <id>', 'a code for each SIM of it that has none')
    .option('--wait', 'with --batch: go on by itself when the hourly limit lets it, until no SIM is left')
    .option('--expires-in <duration>', 'until when the code can be used, such as 7d; 30d when absent')
    .option(
      '--confirmation-code <code>',
      'what the phone asks for; - reads it from standard input, as other users see the process list',
    )
    .option('--eid <digits>', 'the only eUICC that gets it')
    .option('--ci <key id>', 'of that EID, where certificates of several CIs are in use')
    .option('--sim-expires-in <duration>', 'life of new SIMs; 1y when absent')
    .option('--sim-expires-at <time>', 'or this moment, such as 2027-01-31T00:00:00Z')
    .action((hash: string | undefined, options: IssueOptions) => issue(terminal, hash, options))
}

async function issue(terminal: Terminal, hash: string | undefined, options: IssueOptions): Promise<void> {
  if (hash !== undefined && options.batch !== undefined) throw usageError('name a SIM or --batch, not both')
  if (options.wait === true && options.batch === undefined) throw usageError('--wait goes with --batch')
  const body = {
    imsi_sha256_12: hash === undefined ? undefined : simHash(hash),
    batch_id: options.batch,
    confirmation_code: await confirmationCode(terminal, options.confirmationCode),
    expires_in: options.expiresIn,
    eid: options.eid,
    ci_pkid: options.ci,
    ...newSimBody(options),
    sim_expires_in: options.simExpiresIn,
    expires_at: options.simExpiresAt,
  }
  const client = connect(terminal, options)
  if (options.batch === undefined) {
    const { body: answer } = await client.change('POST', '/v1/esim/issue', body)
    await show(terminal, options, answer)
    return
  }
  const { answer, stopped } = await issueBatch(terminal, client, body, options.wait === true)
  await show(terminal, options, answer)
  if (stopped !== undefined) throw stopped
}

async function show(terminal: Terminal, options: IssueOptions, answer: Json): Promise<void> {
  if (options.json === true) terminal.out(jsonText(answer))
  else if (Array.isArray(answer.codes)) several(terminal, answer.codes.filter(isObject))
  else {
    const { activation_code: _, ...rest } = answer
    terminal.out(fields(rest))
    const { showCode } = await import('../output/show-code.ts')
    await showCode(terminal, answer)
  }
}

async function confirmationCode(terminal: Terminal, text: string | undefined): Promise<string | undefined> {
  return text === '-' ? (await terminal.input()).replace(/\r?\n$/, '') : text
}

function several(terminal: Terminal, codes: readonly Json[]): void {
  terminal.out(
    table(
      codes,
      [
        { title: 'CODE', value: (row) => row.token, fit: 'whole' },
        { title: 'SIM', value: (row) => row.imsi_sha256_12, fit: 'whole' },
        { title: 'ICCID', value: (row) => `…${String(row.iccid_last4)}` },
        { title: 'UNTIL', value: (row) => moment(row.expires_at) },
      ],
      terminal.columns,
    ),
  )
  terminal.err(`Print their cards: svc esim sheet ${String(codes[0]?.batch_id)} --out cards.html\n`)
}
