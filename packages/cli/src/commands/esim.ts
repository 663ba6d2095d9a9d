import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import { moment } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import { addEsimCerts } from './esim-certs.ts'
import { addEsimIssue } from './esim-issue.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'

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
