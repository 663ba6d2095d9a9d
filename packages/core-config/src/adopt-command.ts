import { constants } from 'node:fs'
import { access, readFile, realpath, stat } from 'node:fs/promises'
import { type CommandHost, type CoreLine, countText, cutWords, replaceFile } from '@steeple/contracts'

/** What `GET /v1/core/found` answers. */
interface Found {
  readonly core: string | null
  readonly daemons: readonly {
    readonly kind: string
    readonly name: string
    readonly role: string
    readonly version: string | null
  }[]
  readonly network: Readonly<Record<string, unknown>> | null
  readonly settings: Readonly<Record<string, unknown>>
  readonly drive: Readonly<Record<string, unknown>> | null
  readonly apns: readonly string[] | null
  readonly apns_gone: readonly string[]
  readonly subscribers_pending: number | null
  readonly lines: string
  readonly files: readonly {
    readonly path: string
    readonly daemon: string | null
    readonly differences: readonly {
      readonly key: string
      readonly found: string | null
      readonly written: string
    }[]
    readonly kept: readonly string[]
    readonly subscribers_dropped: number | null
  }[]
  readonly adopted: Cost | null
  readonly replaced: Cost | null
  readonly notes: readonly string[]
  readonly problems: readonly string[]
  readonly unseen: readonly string[]
}

interface Cost {
  readonly restarts: readonly string[]
  readonly subscribers_dropped: number | null
}

/** `svc core adopt`: looks, and says what is there; with `--look` or `--yes` it sets the service to it. */
export async function adopt(host: CommandHost): Promise<void> {
  const { typed, call } = host
  if (typed.look === true && typed.yes === true)
    throw host.usage('--look only watches the core, and --yes takes it over: name one of them')
  const found = (await call('GET /v1/core/found')) as unknown as Found // as the route documents it
  if (typed.look === true || typed.yes === true) return await settleOn(host, found)
  if (host.isJson) return host.printRecord(found)
  show(host, found)
  host.answer(found.core === null ? 1 : 0)
}

/** Sets the service to the core that was found: to watch it, or to drive it. */
async function settleOn(host: CommandHost, found: Found): Promise<void> {
  const { typed, call } = host
  if (found.core === null) throw host.failure('not_found', 'no daemon of a core was found on this machine')
  // All that can be refused is refused before anything is written.
  const ours = linesIn(host, typed.ours, found)
  const { driver: now } = await call('GET /v1/core/plan')
  const looking = now === 'none' ? {} : { 'southbound.driver': 'none' }
  const wanted = { ...found.settings, ...(typed.yes === true ? drivingOf(host, found) : looking) }
  const isNew = Object.keys(wanted).length > 0
  // One that is driven already would restart with other settings.
  if (isNew && now !== 'none' && !(await staysUp(host, wanted))) return host.answer(1)
  if (isNew && !(await settle(host, wanted))) return host.answer(1)
  if (found.apns !== null) await call('PUT /v1/policy', { body: { apns: found.apns } })
  if (typed.yes !== true) {
    if (found.apns !== null) host.err(`${apnWords(host, found)}\n`)
    host.err('The service watches this core now, and writes nothing. Look: svc health; svc sessions\n')
    return
  }
  const done = await call('POST /v1/core/adopt', { body: { ours } })
  if (host.isJson) host.printRecord(done)
  else host.out(drivenWords(host, found, ours, String(done.copy)))
}

/** Whether a core that is driven already goes on with these settings as it is. If not, it is said. */
async function staysUp(host: CommandHost, wanted: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { call, err, printable } = host
  const { withKeys } = await import('@steeple/southbound')
  const tried = { query: { found: true, dry_run: true }, body: { settings: wanted } }
  const { file, core } = (await call('PUT /v1/settings', tried)) as unknown as {
    readonly file: string
    readonly core: Cost | null
  } // as the route documents it
  if (core === null || core.restarts.length === 0) return true
  err(
    `With the settings that fit it, ${cutWords(core.restarts.map(printable), core.subscribers_dropped)}. Nothing was changed. ` +
      `To have it so, write these lines into ${printable(file)}, then: systemctl reload steeple\n${withKeys('', wanted)}`,
  )
  return false
}

/** What a take-over did, and the way back. */
function drivenWords(host: CommandHost, found: Found, ours: readonly CoreLine[], copy: string): string {
  const { printable } = host
  const files = new Set(ours.map(({ path }) => path))
  const daemons = found.files.flatMap(({ path, daemon }) =>
    files.has(path) && daemon !== null ? [daemon] : [],
  )
  const lines = ours.map(({ path, key }) => printable(`${path}:${key}`)).join(', ')
  const kept =
    ours.length === 0 ? 'All lines of its files stay.' : `Its own are now: ${lines}. All others stay.`
  const cut = cutWords(daemons.map(printable), found.adopted?.subscribers_dropped ?? null)
  return (
    `The service drives this core now. ${kept} A copy of the files is in ${printable(copy)}.\n` +
    (daemons.length === 0 ? '' : `${cut}.\n`) +
    (found.apns === null ? '' : `${apnWords(host, found)}\n`) +
    ((found.subscribers_pending ?? 0) === 0
      ? ''
      : `It now writes ${pendingWords(found.subscribers_pending)} into the core.\n`) +
    'To be rid of it again: svc core release\n'
  )
}

/** The APNs that the policy gets, and those that go from it. */
function apnWords({ printable }: CommandHost, { apns, apns_gone: gone }: Found): string {
  const after = `APNs of the policy that fit it: ${(apns ?? []).map(printable).join(', ')}`
  return gone.length === 0 ? after : `${after}. These go: ${gone.map(printable).join(', ')}`
}

function pendingWords(count: number | null): string {
  return countText(count ?? 0, 'SIM that it does not have yet', 'SIMs that it does not have yet')
}

function drivingOf(host: CommandHost, { drive }: Found): Readonly<Record<string, unknown>> {
  if (drive !== null) return drive
  throw host.failure(
    'southbound_unavailable',
    'these daemons run without systemd and without containers, so nobody can restart them: use --look',
  )
}

/** The lines of `--ours`. Throws for one that does not differ. */
function linesIn(
  { usage, failure }: CommandHost,
  typed: unknown,
  { files, problems }: Found,
): readonly CoreLine[] {
  const all = typeof typed === 'string' ? typed.split(',').filter((line) => line !== '') : []
  const lines = all.map((line) => {
    const at = line.indexOf(':')
    if (at < 1)
      throw usage(`--ours takes FILE:KEY, such as hss.yaml:hss.use_mongodb_change_stream, not ${line}`)
    return { path: line.slice(0, at), key: line.slice(at + 1) }
  })
  const known = new Set(
    files.flatMap(({ path, differences }) => differences.map(({ key }) => `${path}:${key}`)),
  )
  const unknown = lines.map(({ path, key }) => `${path}:${key}`).filter((line) => !known.has(line))
  if (unknown.length > 0)
    throw failure(
      'validation_failed',
      `--ours: ${unknown.join(', ')} is no line that the service would write otherwise: svc core adopt lists them. Nothing was changed${files.length === 0 ? `; ${problems.join('; ')}` : ''}`,
    )
  return lines
}

function show(host: CommandHost, found: Found): void {
  const { out, err, fields, printable, table } = host
  for (const one of found.unseen) err(`Not seen: ${printable(one)}\n`)
  if (found.core === null) {
    err('No daemon of a core was found on this machine.\n')
    return
  }
  const { network } = found
  const columns = [
    { title: 'DAEMON', value: 'role' },
    { title: 'RUNS AS', value: 'kind' },
    'name',
    'running',
    'version',
    'config_file',
  ]
  out(`${table(found.daemons, columns)}\n`)
  if (network !== null) out(fields({ core: found.core, ...network }))
  for (const note of found.notes) out(`Note: ${printable(note)}\n`)
  for (const problem of found.problems) err(`Problem: ${printable(problem)}\n`)
  const differences = found.files.flatMap(({ path, differences: all, subscribers_dropped: drops }) =>
    all.map(({ key, found: theirs, written }) => ({
      path,
      key,
      theirs: theirs ?? '-',
      ours: written,
      drops: drops ?? '-',
    })),
  )
  const wrapped = (title: string, value: string) => ({ title, value, fit: 'wrap' }) as const
  if (differences.length > 0)
    out(
      `\nLines that the service would write otherwise, and the phones that their daemon’s restart cuts off:\n${table(
        differences,
        [
          { title: 'FILE', value: 'path' },
          wrapped('KEY', 'key'),
          wrapped('THERE IS', 'theirs'),
          wrapped('IT WOULD WRITE', 'ours'),
          { title: 'DROPS', value: 'drops' },
        ],
      )}`,
    )
  for (const { path, kept } of found.files)
    if (kept.length > 0) out(`Yours alone in ${printable(path)}: ${kept.map(printable).join(', ')}\n`)
  if (found.apns !== null) out(`\n${apnWords(host, found)}\n`)
  if ((found.subscribers_pending ?? 0) > 0)
    out(`\nOnce the service drives it, it writes ${pendingWords(found.subscribers_pending)} into the core.\n`)
  if (found.lines !== '') out(`\nSettings that fit it:\n${found.lines.split('\n').map(printable).join('\n')}`)
  showCosts(host, found)
}

function showCosts({ out, printable }: CommandHost, { adopted, replaced }: Found): void {
  const words = ({ restarts, subscribers_dropped: dropped }: Cost): string =>
    restarts.length === 0 ? 'nothing restarts' : cutWords(restarts.map(printable), dropped)
  if (adopted !== null)
    out(`\nTo take it over with all of its lines: svc core adopt --yes (${words(adopted)})\n`)
  if (replaced !== null)
    out(`To have all lines of the service instead: svc core take-over (${words(replaced)})\n`)
  out('To watch it without writing: svc core adopt --look\nNothing was changed.\n')
}

/**
 * Has these settings in force: written into the configuration file where this process may, and the service reads it again.
 * False when a person has to do that.
 */
async function settle(host: CommandHost, wanted: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { call, err, printable } = host
  const { withKeys } = await import('@steeple/southbound')
  const { settings: all } = await call('GET /v1/settings')
  const mcc = (all as readonly { readonly key: string; readonly value: unknown }[]).find(
    ({ key }) => key === 'plmn.mcc',
  )?.value
  // A key that the API takes, as it is or is to be: the answer says which file the service reads, and a change has it read again.
  const again = { settings: { 'plmn.mcc': wanted['plmn.mcc'] ?? mcc } }
  const { file } = await call('PUT /v1/settings', { query: { dry_run: true }, body: again })
  const path = String(file)
  const before = await textIfOurs(host, path)
  if (before === undefined) {
    err(
      `Write these lines into ${printable(path)} on the machine of the service, then: systemctl reload steeple\n` +
        `${withKeys('', wanted)}Once it has read them, run this again.\n`,
    )
    return false
  }
  await replaced(path, withKeys(before, wanted))
  try {
    await call('PUT /v1/settings', { body: again })
    return true
  } catch (error) {
    // A file that the service refuses would keep it from its next start.
    await replaced(path, before)
    throw error
  }
}

/** Puts a text in the place of the file's, all of it or nothing. Mode and owner stay. */
async function replaced(path: string, text: string): Promise<void> {
  const place = await realpath(path)
  const { mode, uid, gid } = await stat(place)
  await replaceFile(place, text, { mode: mode & 0o777, owner: { uid, gid } })
}

/** The file, where the service runs on this machine and this process may write it. */
async function textIfOurs({ url }: CommandHost, path: string): Promise<string | undefined> {
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(URL.parse(url)?.hostname ?? '')
  if (!isHere) return undefined
  try {
    await access(path, constants.R_OK | constants.W_OK)
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}
