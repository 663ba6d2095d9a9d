import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { AnswerOf, RequestOf } from '@steeple/client'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Service } from '../client/service.ts'
import { CommandError, failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, table } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { CERT_COMMANDS } from './esim-certs.ts'
import { type NewSimOptions, newSimBody, newSimOptions } from './new-sims.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

type Issued = AnswerOf<'POST', '/v1/esim/issue'>
type IssueBody = NonNullable<RequestOf<'POST', '/v1/esim/issue'>['body']>

/** What was issued for a batch, and why no more was. */
interface BatchIssued {
  /** The answers as one: the codes of all, and how many SIMs are left. */
  readonly answer: Issued
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
  service: Service,
  body: IssueBody,
  isPatient: boolean,
): Promise<BatchIssued> {
  const parts: Issued[] = []
  while (parts.length === 0 || (parts.at(-1)?.remaining ?? 0) > 0) {
    const part = await refusable(service.post('/v1/esim/issue', { body }))
    if (!(part instanceof CommandError)) parts.push(part.data)
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

async function patience(terminal: Terminal, waitS: number, parts: readonly Issued[]): Promise<void> {
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

function codesOf(parts: readonly Issued[]): NonNullable<Issued['codes']> {
  // A part of one SIM is answered as one code and as a list.
  return parts.flatMap((part) => part.codes ?? [])
}

function joined(parts: readonly Issued[]): Issued {
  const last = parts.at(-1)
  return {
    ...(parts[0] as Issued),
    codes: codesOf(parts),
    ...(last?.remaining === undefined ? {} : { remaining: last.remaining }),
  }
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
function addEsimIssue(program: Command, terminal: Terminal): void {
  newSimOptions(
    restCommand(
      program,
      'esim issue [hash]',
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
  const service = connect(terminal, options)
  if (options.batch === undefined)
    return await show(terminal, options, (await service.post('/v1/esim/issue', { body })).data)
  const { answer, stopped } = await issueBatch(terminal, service, body, options.wait === true)
  await show(terminal, options, answer)
  if (stopped !== undefined) throw stopped
}

async function show(terminal: Terminal, options: IssueOptions, answer: Issued): Promise<void> {
  if (options.json === true) terminal.out(jsonText(answer))
  else if (answer.codes !== undefined) several(terminal, answer.codes)
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

function several(terminal: Terminal, codes: NonNullable<Issued['codes']>): void {
  terminal.out(
    table(
      codes,
      [
        { title: 'CODE', value: 'token', fit: 'whole' },
        { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
        { title: 'ICCID', value: '…{iccid_last4}' },
        { title: 'UNTIL', value: 'expires_at' },
      ],
      terminal.columns,
    ),
  )
  terminal.err(`Print their cards: svc esim sheet ${String(codes[0]?.batch_id)} --out cards.html\n`)
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
/** A code by its token. Anything else is refused and not repeated: it may be the code itself, which is a secret. */
const CODE = {
  to: 'path.token',
  pattern: '^e-[0-9a-z]{1,62}$',
  refusal: 'a code is named by its token, e-…; svc esim codes shows it',
} as const

/** `svc esim issue|codes|show|qr|revoke|sheet|euiccs|certs` */
export const ESIM_COMMANDS: readonly CommandEntry[] = [
  { group: 'esim', summary: 'SIMs without a card: activation codes and what phones hold' },
  addEsimIssue,
  ...CERT_COMMANDS,
  {
    usage: 'esim codes',
    summary: 'activation codes, newest first',
    operation: 'GET /v1/esim/codes',
    options: {
      '--state <state>': { summary: 'in this state', choices: STATES },
      '--batch <id>': { summary: 'of this batch', to: 'query.batch_id' },
      '--sim <hash>': { summary: 'of this SIM', to: 'query.imsi' },
    },
    list: {
      key: 'codes',
      columns: [
        { title: 'CODE', value: 'token', fit: 'whole' },
        { title: 'STATE', value: 'closed|state', words: { true: 'closed' }, fit: 'whole' },
        { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
        { title: 'ICCID', value: '…{iccid_last4}' },
        { title: 'EUICC', value: '…{eid_last4}' },
        { title: 'PROFILE', value: 'profile.state' },
        { title: 'UNTIL', value: 'expires_at' },
        'last_error',
      ],
    },
  },
  {
    usage: 'esim show <code>',
    summary: 'one activation code, without what opens it',
    operation: 'GET /v1/esim/codes/{token}',
    arguments: { code: CODE },
  },
  (program, terminal) => {
    restCommand(program, 'esim qr <code>', 'the QR code of an activation code, on the screen or in a file')
      .option('--png <file>', 'write a picture')
      .option('--svg <file>', 'write a drawing, for print')
      .action((token: string, options: QrOptions) => qr(terminal, token, options))
    restCommand(
      program,
      'esim revoke <code>',
      'end an activation code; what a phone holds stays: for that see svc sim revoke',
    ).action((token: string, options: ConnectionOptions) => revoke(terminal, token, options))
    restCommand(program, 'esim sheet <batch>', 'cards of a batch to print, as HTML')
      .option('--out <file>', 'write it there; standard output when absent')
      .action((batch: string, options: SheetOptions) => sheet(terminal, batch, options))
    restCommand(program, 'esim euiccs', 'the eUICCs that have been here, and what they hold')
      .addOption(limitOption())
      .action((options: ListOptions) => euiccs(terminal, options))
  },
]

function codeFrom(token: string): string {
  if (new RegExp(CODE.pattern).test(token)) return token
  throw usageError(CODE.refusal)
}

async function qr(terminal: Terminal, token: string, options: QrOptions): Promise<void> {
  const path = { token: codeFrom(token) }
  const data = (await connect(terminal, options).get('/v1/esim/codes/{token}/qr', { path })).data as Qr
  const text = data.qr_text
  const { png, svg } = options
  const { toBuffer, toString: toText } = await import('qrcode')
  if (png !== undefined) await writeSecret(png, await toBuffer(text, { type: 'png', scale: 8 }))
  if (svg !== undefined) await writeSecret(svg, await toText(text, { type: 'svg' }))
  if (options.json === true) printRecord(terminal, options, data)
  else if (png === undefined && svg === undefined)
    await (await import('../output/show-code.ts')).showCode(terminal, data)
}

/** As JSON, which is what is asked for; it has the picture in other types too. */
type Qr = Extract<AnswerOf<'GET', '/v1/esim/codes/{token}/qr'>, { readonly qr_text: string }>

async function revoke(terminal: Terminal, token: string, options: ConnectionOptions): Promise<void> {
  const body = { token: codeFrom(token) }
  const { data } = await connect(terminal, options).post('/v1/esim/revoke', { body })
  printRecord(terminal, options, data)
  if (options.json !== true && data.profile !== null && data.profile.state !== 'deleted')
    terminal.err(
      `Its profile stays on the phone and works: svc sim suspend ${data.imsi_sha256_12} cuts it off, svc sim revoke for good.\n`,
    )
}

async function sheet(terminal: Terminal, batch: string, options: SheetOptions): Promise<void> {
  const { body } = await connect(terminal, options).open('/v1/esim/sheet', { query: { batch } })
  const html = await text(body)
  if (options.out === undefined) terminal.out(html)
  else {
    await writeSecret(options.out, html)
    terminal.err(`Whoever has ${options.out} can download the profiles: print it, then delete it.\n`)
  }
}

async function euiccs(terminal: Terminal, options: ListOptions): Promise<void> {
  const found = await connect(terminal, options).list('/v1/esim/euiccs', 'euiccs', options.limit)
  printList(terminal, options, found, [
    { title: 'EID', value: '…{eid_last4}', fit: 'whole' },
    { title: 'CI', value: ({ authority }) => authority?.slice(0, 8) },
    { title: 'PROFILES', value: ({ profiles = [] }) => profiles.map(heldProfile).join(', ') },
    { title: 'FIRST SEEN', value: 'first_seen_at' },
    { title: 'LAST SEEN', value: 'last_seen_at' },
    'locked_until',
  ])
}

function heldProfile({
  imsi_sha256_12,
  state,
}: {
  readonly imsi_sha256_12?: string
  readonly state?: string
}): string {
  return `${imsi_sha256_12} ${state}`
}
