import { createReadStream, statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CommandHost, Commands } from '@steeple/contracts'

const HEADER = 'x-backup-passphrase'
/** docs/reference/backup-file.md: the first octets of an encrypted backup. */
const MAGIC = 'SVCBKP'
const MIB = 1_048_576
/** Rows that are shown where nobody says how many. */
const MOST = 1_000

/** `svc backup`, `svc restore`, `svc reopen` */
export const commands: Commands = {
  backup,
  restore,
  reopen: (host) => (host.typed.kind === undefined ? closed(host) : reopen(host)),
}

async function closed({ typed, list, printRows }: CommandHost): Promise<void> {
  const { limit = MOST } = typed
  const found = await list('GET /v1/restore/closed', 'closed', Number(limit))
  printRows(found, ['kind', 'id', { title: 'EXPIRES', value: 'expires_at' }])
}

async function reopen(host: CommandHost): Promise<void> {
  const kind = String(host.typed.kind)
  const ids = host.typed.ids as readonly string[] // several, as its usage says
  const body = ids.length === 0 ? { kind } : { kind, ids }
  const data = await host.call('POST /v1/restore/reopen', { body })
  const reopened = Number(data.reopened)
  const isLess = reopened < Math.max(1, ids.length)
  if (isLess) host.answer(1)
  if (host.isJson) host.out(host.json(data))
  else if (reopened > 0) host.out(`${reopened} of ${kind} can be used again\n`)
  if (isLess) host.err('what you named is not closed, or not all of it; svc reopen lists what is\n')
}

async function backup(host: CommandHost): Promise<void> {
  const { file, encrypt, passphraseFile } = host.typed
  const isEncrypted = encrypt === true || passphraseFile !== undefined
  const passphrase = isEncrypted ? await passphraseOf(host, true) : undefined
  const opened = await host.open('GET /v1/backup', { headers: headersOf(passphrase) })
  const target = { file: file as string | undefined, fallback: 'svc-backup' }
  const { path, bytes } = await host.save('backup', opened, target)
  if (host.isJson) host.out(host.json({ file: path, bytes, encrypted: isEncrypted }))
  else host.out(`${path}: ${bytes} bytes${isEncrypted ? '' : '; no key is in it'}\n`)
}

async function restore(host: CommandHost): Promise<void> {
  const { file, dryRun: dry_run, adopt, passphraseFile } = host.typed
  const path = resolve(host.cwd, String(file))
  const { size, isEncrypted } = await lookAt(host, path)
  const isAsked = isEncrypted || passphraseFile !== undefined
  const passphrase = isAsked ? await passphraseOf(host, false) : undefined
  let sent = 0
  const pieces = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for await (const piece of createReadStream(path)) {
      sent += piece.length
      yield piece
    }
  }
  const content = ReadableStream.from(pieces())
  const data = await host.progress(
    'restore',
    () =>
      host.call('POST /v1/restore', {
        query: { dry_run, adopt },
        body: { type: 'application/octet-stream', content },
        headers: { 'content-length': String(size), ...headersOf(passphrase) },
      }),
    () => (sent < size ? `${Math.floor(sent / MIB)} of ${Math.ceil(size / MIB)} MiB` : 'is checked'),
  )
  if (host.isJson) host.out(host.json(data))
  else show(host, data as unknown as Restored, dry_run === true) // as the route documents it
}

async function lookAt(
  { unreadable }: CommandHost,
  path: string,
): Promise<{ readonly size: number; readonly isEncrypted: boolean }> {
  try {
    await using file = await open(path, 'r')
    const { buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
    return { size: statSync(path).size, isEncrypted: buffer.toString('latin1') === MAGIC }
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

interface Restored {
  readonly restored_from: string
  readonly node_name: string
  readonly created_at: string
  readonly version: string
  readonly with_keys: boolean
  readonly kept_in: unknown
  readonly present: Readonly<Record<string, number>>
  readonly counts: Readonly<Record<string, number>>
  readonly closed: Readonly<Record<string, number>>
}

function show({ out, fields, table }: CommandHost, body: Restored, isDryRun: boolean): void {
  out(
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
    out(`\n${table(changes, ['table', 'now', { title: 'IN THE BACKUP', value: 'held' }])}`)
  else out('\nno table has another number of rows\n')
  const shut = Object.entries(body.closed)
  if (shut.length > 0)
    out(
      `\nclosed, since they may have been used after the backup: ${shut.map(([kind, count]) => `${count} ${kind}`).join(', ')}\nsvc reopen lists them, svc reopen KIND lets them be used again\n`,
    )
  out(
    isDryRun
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

async function passphraseOf(host: CommandHost, isNew: boolean): Promise<string> {
  const { passphraseFile } = host.typed
  if (typeof passphraseFile === 'string') return await passphraseIn(host, resolve(host.cwd, passphraseFile))
  if (host.ask === undefined) throw host.usage('name the file that holds the passphrase: --passphrase-file')
  const [passphrase = '', again = ''] = await host.ask([
    { question: 'Passphrase of the backup: ', isHidden: true },
    ...(isNew ? [{ question: 'Once more: ', isHidden: true }] : []),
  ])
  if (isNew && passphrase !== again) throw host.usage('the two are not the same')
  return passphrase
}

async function passphraseIn({ unreadable }: CommandHost, path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    throw unreadable(`the passphrase file ${path}`, cause)
  }
}
