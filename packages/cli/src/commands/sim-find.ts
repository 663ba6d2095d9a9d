import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json, type List, type RestClient } from '../client/rest-client.ts'
import { failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, printable, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { SIM_COLUMNS, simPath } from './sim-columns.ts'

/** Digits of a whole IMSI or ICCID: TS 23.003 §2.2, ITU-T E.118. */
const WHOLE = /^\+?[0-9]{14,20}$/
const IMSI_DIGITS = 15
const HASH = /^[0-9a-f]{12}$/

/** `svc sim find|why|label` */
export function addFindCommands(sim: Command, terminal: Terminal): void {
  restCommand(
    sim,
    'find <text...>',
    'by words of the label, the last digits of ICCID or number, or a whole IMSI, ICCID or number',
  )
    .addOption(limitOption())
    .addHelpText(
      'after',
      '\nWhat is typed here stands in the list of processes and in the history of the shell. With - the text is read from\n' +
        'standard input, which is the way for whole IMSIs and ICCIDs.',
    )
    .action((words: readonly string[], options: ListOptions) => find(terminal, words.join(' '), options))
  restCommand(sim, 'why <sim>', 'why its phone is not on the network, and what to do').action(
    (text: string, options: ConnectionOptions) => why(terminal, text, options),
  )
  restCommand(sim, 'label <hash> [text]', 'give a SIM a label, to find it again; --none takes it away')
    .option('--none', 'take the label away')
    .action(
      (hash: string, text: string | undefined, options: ConnectionOptions & { readonly none?: boolean }) =>
        label(terminal, hash, text, options),
    )
}

async function find(terminal: Terminal, text: string, options: ListOptions): Promise<void> {
  const client = connect(terminal, options)
  const found = await search(client, await textOf(terminal, text), options.limit)
  if (found.rows.length === 0 && options.json !== true) terminal.err('No SIM matches.\n')
  if (found.rows.length > 0 || options.json === true)
    printList(terminal, options.json === true, found, SIM_COLUMNS)
  if (found.rows.length === 0) terminal.answer(1)
}

/** Whole identifiers travel in a body: an address is written to logs. */
async function search(client: RestClient, text: string, limit: number): Promise<List> {
  if (!WHOLE.test(text)) return await client.list('/v1/sims', 'sims', limit, { q: text })
  const digits = text.replace('+', '')
  const bodies: Record<string, string>[] = []
  if (digits.length <= IMSI_DIGITS) bodies.push({ imsi: digits }, { msisdn: digits })
  if (digits.length >= 18) bodies.push({ iccid: digits })
  const rows: Json[] = []
  for (const body of bodies) {
    const answer = await client.change('POST', '/v1/sims/find', body)
    if (Array.isArray(answer.body.sims)) rows.push(...answer.body.sims.filter(isObject))
  }
  return { key: 'sims', rows, nextCursor: null }
}

async function textOf(terminal: Terminal, text: string): Promise<string> {
  const read = (text === '-' ? await terminal.input() : text).trim()
  if (read === '') throw usageError('there is nothing to search for')
  return read
}

/** The hash of the one SIM that a text names; a hash is taken as it is. */
async function oneHash(terminal: Terminal, client: RestClient, text: string): Promise<string> {
  if (HASH.test(text)) return text
  const { rows } = await search(client, await textOf(terminal, text), 2)
  const [row] = rows
  if (row === undefined)
    throw failure('sim_not_found', 'no SIM matches: none with it was issued or imported here')
  if (rows.length > 1) throw usageError('several SIMs match; name one by its hash: svc sim find lists them')
  return String(row.imsi_sha256_12)
}

const CHECKS = [
  { title: 'CHECK', value: (row: Json) => row.name },
  { title: 'STATUS', value: (row: Json) => row.status },
  { title: 'DETAIL', value: (row: Json) => row.detail, fit: 'wrap' },
] as const

async function why(terminal: Terminal, text: string, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const hash = await oneHash(terminal, client, text)
  const { body } = await client.get(`/v1/sims/${encodeURIComponent(hash)}/diagnosis`)
  const checks = Array.isArray(body.checks) ? body.checks.filter(isObject) : []
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { checks: _checks, ...verdict } = body
    terminal.out(`${fields(verdict)}\n`)
    terminal.out(table(checks, CHECKS, terminal.columns))
    const advice = checks.filter((row) => typeof row.advice === 'string')
    if (advice.length > 0) terminal.out('\nWhat to do:\n')
    for (const row of advice) terminal.out(`- ${printable(String(row.advice))}\n`)
  }
  if (checks.some((row) => row.status === 'failed')) terminal.answer(1)
}

async function label(
  terminal: Terminal,
  hash: string,
  text: string | undefined,
  options: ConnectionOptions & { readonly none?: boolean },
): Promise<void> {
  if ((text === undefined) !== (options.none === true)) throw usageError('give either a label or --none')
  const path = `${simPath(hash)}/label`
  const { body } = await connect(terminal, options).change('POST', path, { label: text ?? null })
  printRecord(terminal, options.json === true, body)
}
