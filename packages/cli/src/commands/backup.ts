import { createReadStream, statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { AnswerOf } from '@steeple/client'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { unreadable, usageError } from '../command-error.ts'
import { askLines } from '../output/ask-lines.ts'
import { jsonText, printList } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { saveDownload } from '../output/save-download.ts'
import { fields, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'

interface PassphraseOptions extends ConnectionOptions {
  readonly passphraseFile?: string
}
interface BackupOptions extends PassphraseOptions {
  readonly encrypt?: boolean
}
interface RestoreOptions extends PassphraseOptions {
  readonly dryRun?: boolean
  readonly adopt?: boolean
}

const HEADER = 'x-backup-passphrase'
/** docs/reference/backup-file.md: the first octets of an encrypted backup. */
const MAGIC = 'SVCBKP'
const MIB = 1_048_576

/** `svc backup`, `svc restore`, `svc reopen` */
export function addBackupCommands(program: Command, terminal: Terminal): void {
  restCommand(program, 'backup [file]', 'take a backup; its name is made of node and time when none is given')
    .option(
      '--encrypt',
      'ask for a passphrase; without one no key is in it, and only this node can restore it',
    )
    .option('--passphrase-file <file>', 'file with the passphrase (at least 12 characters)')
    .action((file: string | undefined, options: BackupOptions) => backup(terminal, file, options))
  restCommand(program, 'restore <file>', 'check a backup as a whole and put it in the place of what is there')
    .option('--dry-run', 'check everything, show what would change, and change nothing')
    .option('--adopt', 'take a backup of another node too: this node becomes that one')
    .option('--passphrase-file <file>', 'file with the passphrase')
    .action((file: string, options: RestoreOptions) => restore(terminal, file, options))
  restCommand(
    program,
    'reopen [kind] [ids...]',
    'list what a restore has closed, or let a kind (or some of it) be used again',
  )
    .addOption(limitOption())
    .action((kind: string | undefined, ids: readonly string[], options: ListOptions) =>
      kind === undefined ? closed(terminal, options) : reopen(terminal, { kind, ids }, options),
    )
}

async function closed(terminal: Terminal, options: ListOptions): Promise<void> {
  const found = await connect(terminal, options).list('/v1/restore/closed', 'closed', options.limit)
  printList(terminal, options, found, ['kind', 'id', { title: 'EXPIRES', value: 'expires_at' }])
}

async function reopen(
  terminal: Terminal,
  { kind, ids }: { readonly kind: string; readonly ids: readonly string[] },
  options: ConnectionOptions,
): Promise<void> {
  const body = ids.length === 0 ? { kind } : { kind, ids }
  const { data } = await connect(terminal, options).post('/v1/restore/reopen', { body })
  const { reopened } = data
  const isLess = reopened < Math.max(1, ids.length)
  if (isLess) terminal.answer(1)
  if (options.json === true) terminal.out(jsonText(data))
  else if (reopened > 0) terminal.out(`${reopened} of ${kind} can be used again\n`)
  if (isLess) terminal.err('what you named is not closed, or not all of it; svc reopen lists what is\n')
}

async function backup(terminal: Terminal, file: string | undefined, options: BackupOptions): Promise<void> {
  const isEncrypted = options.encrypt === true || options.passphraseFile !== undefined
  const passphrase = isEncrypted ? await passphraseOf(terminal, options, true) : undefined
  const response = await connect(terminal, options).open('/v1/backup', { headers: headersOf(passphrase) })
  const { path, bytes } = await saveDownload(terminal, 'backup', response, { file, fallback: 'svc-backup' })
  if (options.json === true) terminal.out(jsonText({ file: path, bytes, encrypted: isEncrypted }))
  else terminal.out(`${path}: ${bytes} bytes${isEncrypted ? '' : '; no key is in it'}\n`)
}

async function restore(terminal: Terminal, name: string, options: RestoreOptions): Promise<void> {
  const path = resolve(terminal.cwd, name)
  const { size, isEncrypted } = await lookAt(path)
  const passphrase =
    isEncrypted || options.passphraseFile !== undefined
      ? await passphraseOf(terminal, options, false)
      : undefined
  let sent = 0
  const pieces = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for await (const piece of createReadStream(path)) {
      sent += piece.length
      yield piece
    }
  }
  const content = ReadableStream.from(pieces())
  const { data } = await withProgress(
    terminal,
    'restore',
    () =>
      connect(terminal, options).post('/v1/restore', {
        query: { dry_run: options.dryRun, adopt: options.adopt },
        body: { type: 'application/octet-stream', content },
        headers: { 'content-length': String(size), ...headersOf(passphrase) },
      }),
    () => (sent < size ? `${Math.floor(sent / MIB)} of ${Math.ceil(size / MIB)} MiB` : 'is checked'),
  )
  if (options.json === true) terminal.out(jsonText(data))
  else show(terminal, data, options)
}

async function lookAt(path: string): Promise<{ readonly size: number; readonly isEncrypted: boolean }> {
  try {
    await using file = await open(path, 'r')
    const { buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
    return { size: statSync(path).size, isEncrypted: buffer.toString('latin1') === MAGIC }
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

type Restored = AnswerOf<'POST', '/v1/restore'>

function show(terminal: Terminal, body: Restored, { dryRun: isDryRun }: RestoreOptions): void {
  terminal.out(
    fields({
      node: `${body.restored_from} (${body.node_name})`,
      taken: body.created_at,
      'by version': body.version,
      keys: body.with_keys ? 'in it' : 'not in it',
      'state before': body.kept_in,
    }),
  )
  const changes = changesOf(body)
  if (changes.length > 0)
    terminal.out(
      `\n${table(changes, ['table', 'now', { title: 'IN THE BACKUP', value: 'held' }], terminal.columns)}`,
    )
  else terminal.out('\nno table has another number of rows\n')
  const shut = Object.entries(body.closed)
  if (shut.length > 0)
    terminal.out(
      `\nclosed, since they may have been used after the backup: ${shut.map(([kind, count]) => `${count} ${kind}`).join(', ')}\nsvc reopen lists them, svc reopen KIND lets them be used again\n`,
    )
  terminal.out(
    isDryRun === true
      ? '\nnothing was changed\n'
      : '\nrestored; the service starts anew, and everybody has to log in again\n',
  )
}

interface CountChange {
  readonly table: string
  readonly now: number
  readonly held: number
}

function changesOf({ present: now, counts: held }: Restored): readonly CountChange[] {
  return [...new Set([...Object.keys(now), ...Object.keys(held)])]
    .toSorted()
    .map((name) => ({ table: name, now: now[name] ?? 0, held: held[name] ?? 0 }))
    .filter((change) => change.now !== change.held)
}

/** Header fields hold octets: a passphrase goes as UTF-8. */
function headersOf(passphrase: string | undefined): Readonly<Record<string, string>> {
  return passphrase === undefined ? {} : { [HEADER]: Buffer.from(passphrase, 'utf8').toString('latin1') }
}

async function passphraseOf(
  terminal: Terminal,
  { passphraseFile }: PassphraseOptions,
  isNew: boolean,
): Promise<string> {
  if (passphraseFile !== undefined) return await passphraseIn(resolve(terminal.cwd, passphraseFile))
  if (terminal.ask === undefined)
    throw usageError('name the file that holds the passphrase: --passphrase-file')
  // What is piped in was not mistyped.
  const isTyped = isNew && terminal.ask !== undefined
  const [passphrase = '', again = ''] = await askLines(terminal, [
    { question: 'Passphrase of the backup: ', isHidden: true },
    ...(isTyped ? [{ question: 'Once more: ', isHidden: true }] : []),
  ])
  if (isTyped && passphrase !== again) throw usageError('the two are not the same')
  return passphrase
}

async function passphraseIn(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    throw unreadable(`the passphrase file ${path}`, cause)
  }
}
