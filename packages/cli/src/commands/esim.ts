import { setTimeout as delay } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json, type RestClient } from '../client/rest-client.ts'
import { CommandError, failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, moment, table } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import { addEsimCerts } from './esim-certs.ts'
import { type NewSimOptions, newSimBody, newSimOptions } from './new-sims.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

/** What was issued for a batch, and why no more was. */
interface BatchIssued {
  /** The answers as one: the codes of all, and how many SIMs are left. */
  readonly answer: Json
  /** Undefined when no SIM is left. */
  readonly stopped: CommandError | undefined
}

const MS_PER_S = 1_000

/**
 * Has codes issued until every SIM of a batch has one. The service answers in parts, each durable when it is answered, so
 * what was issued is given back also when a later part is refused. `isPatient`: a refusal that says until when is waited
 * for. Throws a `CommandError` when the first part is refused already.
 */
async function issueBatch(
  terminal: Terminal,
  client: RestClient,
  body: object,
  isPatient: boolean,
): Promise<BatchIssued> {
  const parts: Json[] = []
  while (parts.length === 0 || isMore(parts.at(-1)?.remaining)) {
    const part = await refusable(client.change('POST', '/v1/esim/issue', body))
    if (!(part instanceof CommandError)) parts.push(part.body)
    else if (isPatient && part.retryAfterS !== undefined) await patience(terminal, part.retryAfterS, parts)
    else if (parts.length === 0) throw part
    else return { answer: joined(parts), stopped: howToGoOn(part, parts.at(-1)?.remaining) }
  }
  return { answer: joined(parts), stopped: undefined }
}

async function refusable<Value>(answer: Promise<Value>): Promise<Value | CommandError> {
  return await answer.catch((error: unknown) => {
    if (error instanceof CommandError) return error
    throw error
  })
}

async function patience(terminal: Terminal, waitS: number, parts: readonly Json[]): Promise<void> {
  // A service that says "at once" is not asked in a loop.
  const seconds = Math.max(1, waitS)
  terminal.err(`${codesOf(parts).length} issued; the limit sim_issue is reached, waiting ${seconds} s.\n`)
  await delay(seconds * MS_PER_S)
}

function howToGoOn(error: CommandError, remaining: unknown): CommandError {
  const when = error.retryAfterS === undefined ? '' : ` in ${error.retryAfterS} s`
  return failure(error.code, error.message, {
    details: error.details,
    requestId: error.requestId,
    hint: `the codes above are issued; ${String(remaining)} SIMs are left: the same command takes them up${when}, with --wait by itself`,
    cause: error,
  })
}

function isMore(remaining: unknown): boolean {
  return typeof remaining === 'number' && remaining > 0
}

function codesOf(parts: readonly Json[]): readonly Json[] {
  // A part of one SIM is answered as one code and as a list.
  return parts.flatMap((part) => (Array.isArray(part.codes) ? part.codes.filter(isObject) : []))
}

function joined(parts: readonly Json[]): Json {
  const [first] = parts
  return { ...first, codes: codesOf(parts), remaining: parts.at(-1)?.remaining }
}

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
function addEsimIssue(esim: Command, terminal: Terminal): void {
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

interface CodesOptions extends ListOptions {
  readonly state?: string
  readonly batch?: string
  readonly sim?: string
}
interface QrOptions extends ConnectionOptions {
  readonly png?: string
  readonly svg?: string
}
interface SheetOptions extends ConnectionOptions {
  readonly out?: string
}

const STATES = [
  'allocated',
  'confirmed',
  'released',
  'downloaded',
  'installed',
  'error',
  'revoked',
  'expired',
] as const
const TOKEN = /^e-[0-9a-z]{1,62}$/

/** `svc esim issue|codes|show|qr|revoke|sheet|euiccs|certs` */
export function addEsimCommands(program: Command, terminal: Terminal): Command {
  const esim = program
    .command('esim')
    .description('SIMs without a card: activation codes and what phones hold')
  addEsimIssue(esim, terminal)
  addEsimCerts(esim, terminal)
  restCommand(esim, 'codes', 'activation codes, newest first')
    .addOption(limitOption())
    .addOption(new Option('--state <state>', 'in this state').choices(STATES))
    .option('--batch <id>', 'of this batch')
    .option('--sim <hash>', 'of this SIM')
    .action((options: CodesOptions) => codes(terminal, options))
  restCommand(esim, 'show <code>', 'one activation code, without what opens it').action(
    async (token: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get(codePath(token))
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(esim, 'qr <code>', 'the QR code of an activation code, on the screen or in a file')
    .option('--png <file>', 'write a picture')
    .option('--svg <file>', 'write a drawing, for print')
    .action((token: string, options: QrOptions) => qr(terminal, token, options))
  restCommand(
    esim,
    'revoke <code>',
    'end an activation code; what a phone holds stays: for that see svc sim revoke',
  ).action((token: string, options: ConnectionOptions) => revoke(terminal, token, options))
  restCommand(esim, 'sheet <batch>', 'cards of a batch to print, as HTML')
    .option('--out <file>', 'write it there; standard output when absent')
    .action((batch: string, options: SheetOptions) => sheet(terminal, batch, options))
  restCommand(esim, 'euiccs', 'the eUICCs that have been here, and what they hold')
    .addOption(limitOption())
    .action((options: ListOptions) => euiccs(terminal, options))
  return esim
}

/** The path of a code by its token. Anything else is refused and not repeated: it may be the code itself, which is a secret. */
function codePath(token: string): string {
  if (TOKEN.test(token)) return `/v1/esim/codes/${token}`
  throw usageError('a code is named by its token, e-…; svc esim codes shows it')
}

async function codes(terminal: Terminal, { state, batch, sim, ...options }: CodesOptions): Promise<void> {
  const query = { state, batch_id: batch, imsi: sim }
  const list = await connect(terminal, options).list('/v1/esim/codes', 'codes', options.limit, query)
  printList(terminal, options.json === true, list, [
    { title: 'CODE', value: (row) => row.token, fit: 'whole' },
    { title: 'STATE', value: (row) => (row.closed === true ? 'closed' : row.state), fit: 'whole' },
    { title: 'SIM', value: (row) => row.imsi_sha256_12, fit: 'whole' },
    { title: 'ICCID', value: (row) => last(row.iccid_last4) },
    { title: 'EUICC', value: (row) => last(row.eid_last4) },
    { title: 'PROFILE', value: (row) => (isObject(row.profile) ? row.profile.state : undefined) },
    { title: 'UNTIL', value: (row) => moment(row.expires_at) },
    { title: 'LAST ERROR', value: (row) => row.last_error },
  ])
}

async function qr(terminal: Terminal, token: string, options: QrOptions): Promise<void> {
  const { body } = await connect(terminal, options).get(`${codePath(token)}/qr`)
  const text = String(body.qr_text)
  const { png, svg } = options
  const { toBuffer, toString: toText } = await import('qrcode')
  if (png !== undefined) await writeSecret(png, await toBuffer(text, { type: 'png', scale: 8 }))
  if (svg !== undefined) await writeSecret(svg, await toText(text, { type: 'svg' }))
  if (options.json === true) printRecord(terminal, true, body)
  else if (png === undefined && svg === undefined)
    await (await import('../output/show-code.ts')).showCode(terminal, body)
}

async function revoke(terminal: Terminal, token: string, options: ConnectionOptions): Promise<void> {
  codePath(token)
  const { body } = await connect(terminal, options).change('POST', '/v1/esim/revoke', { token })
  printRecord(terminal, options.json === true, body)
  const held = isObject(body.profile) ? body.profile.state : undefined
  if (options.json !== true && held !== undefined && held !== 'deleted')
    terminal.err(
      `Its profile stays on the phone and works: svc sim suspend ${String(body.imsi_sha256_12)} cuts it off, svc sim revoke for good.\n`,
    )
}

async function sheet(terminal: Terminal, batch: string, options: SheetOptions): Promise<void> {
  const html = await connect(terminal, options).text('/v1/esim/sheet', 'text/html', { batch })
  if (options.out === undefined) terminal.out(html)
  else {
    await writeSecret(options.out, html)
    terminal.err(`Whoever has ${options.out} can download the profiles: print it, then delete it.\n`)
  }
}

async function euiccs(terminal: Terminal, options: ListOptions): Promise<void> {
  const list = await connect(terminal, options).list('/v1/esim/euiccs', 'euiccs', options.limit)
  printList(terminal, options.json === true, list, [
    { title: 'EID', value: (row) => last(row.eid_last4), fit: 'whole' },
    { title: 'CI', value: (row) => (typeof row.authority === 'string' ? row.authority.slice(0, 8) : '') },
    { title: 'PROFILES', value: (row) => profilesOf(row) },
    { title: 'FIRST SEEN', value: (row) => moment(row.first_seen_at) },
    { title: 'LAST SEEN', value: (row) => moment(row.last_seen_at) },
    { title: 'LOCKED UNTIL', value: (row) => moment(row.locked_until) },
  ])
}

function profilesOf({ profiles }: Json): string {
  const held = Array.isArray(profiles) ? profiles.filter(isObject) : []
  return held.map(({ imsi_sha256_12, state }) => `${String(imsi_sha256_12)} ${String(state)}`).join(', ')
}

function last(digits: unknown): string | undefined {
  return typeof digits === 'string' ? `…${digits}` : undefined
}
