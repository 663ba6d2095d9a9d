import { type CommandHost, type Commands, countText, cutWords, isCostUnknown } from '@steeple/contracts'
import { adopt } from './adopt-command.ts'

/** A plan as `GET /v1/core/plan` answers it. */
interface Plan {
  readonly state: string
  readonly held: readonly string[]
  readonly config_dir: string
  readonly files: readonly { readonly path: string; readonly change: string; readonly diff?: string }[]
  readonly daemons: readonly { readonly action: string; readonly drops: unknown }[]
  readonly problems?: readonly string[]
  readonly notes?: readonly string[]
  readonly originals?: readonly string[]
  readonly overlays?: readonly { readonly path: string; readonly keys: readonly string[] }[]
}

/** With settings that would be others, the plan of that change. */
const planOf = async ({ call }: CommandHost, change: Readonly<Record<string, unknown>> = {}): Promise<Plan> =>
  (await call('GET /v1/core/plan', { query: change })) as unknown as Plan // as the route documents it

/** `svc core plan`, `svc core set`, `svc core adopt`, `svc core take-over`, `svc core release`, `svc core restart` */
export const commands: Commands = {
  'core plan': async (host) => await (host.typed.reload === true ? showReload(host) : showPlan(host)),
  'core set': setTold,
  'core adopt': adopt,
  'core take-over': async (host) => {
    const { typed, call, err, printable } = host
    const { held: files, config_dir: dir } = await planOf(host)
    if (files.length > 0 && typed.yes !== true) {
      err(
        `These files in ${printable(dir)} would be replaced, and a copy of them kept:\n` +
          `${files.map((path) => `  ${printable(path)}\n`).join('')}` +
          'svc core plan shows what changes in them. To agree: svc core take-over --yes\n',
      )
      return host.answer(1)
    }
    host.printRecord(await call('POST /v1/core/take-over', { body: { files } }))
  },
  'core release': release,
  'core restart': async (host) => {
    const { typed, call, err, printable } = host
    if (typed.yes !== true) {
      const { restarted, subscribers_dropped: dropped } = (await call('POST /v1/core/restart', {
        body: { dry_run: true },
      })) as unknown as { readonly restarted: readonly string[]; readonly subscribers_dropped: number | null } // as the route documents it
      if (dropped !== 0) {
        err(
          `${cutWords(restarted.map(printable), dropped)}. Nothing was changed. To do it: svc core restart --yes\n`,
        )
        return host.answer(1)
      }
    }
    host.printRecord(await call('POST /v1/core/restart', { body: {} }))
  },
}

/** What a change of the core's configuration would do now: its cost, then file by file. */
async function showPlan(host: CommandHost): Promise<void> {
  const { out, err, printable, fields, table, typed } = host
  const { apns, mcc, mnc, tac } = typed
  const plan = await planOf(host, { apns, mcc, mnc, tac })
  if (host.isJson) return host.printRecord(plan)
  const { files, daemons, problems = [], notes = [], overlays = [], ...short } = plan
  out(fields(short))
  for (const { path, keys } of overlays)
    out(`Yours in ${printable(path)}: ${keys.length === 0 ? 'all of it' : keys.map(printable).join(', ')}\n`)
  for (const note of notes) out(`Note: ${printable(note)}\n`)
  for (const problem of problems) err(`Problem: ${printable(problem)}\n`)
  // Where nothing is compared a list of all that the core would get says nothing.
  if (plan.state === 'unconfigured' || plan.state === 'unknown') {
    const names = files.map(({ path }) => printable(path))
    if (files.length > 0) out(`\nRendered: ${countText(names.length, 'file')} (${names.join(', ')}).\n`)
    return
  }
  const rows = daemons.map((row) => ({ ...row, drops: row.action === 'restart' ? row.drops : undefined }))
  const columns = [
    { title: 'DAEMON', value: 'name' },
    { title: 'RUNS IN', value: 'container' },
    'action',
    'drops',
    WRAPPED_REASON,
  ]
  if (rows.length > 0) out(`\n${table(rows, columns)}`)
  const changed = files.filter(({ change }) => change !== 'same')
  if (changed.length > 0) out(`\n${table(changed, [{ title: 'FILE', value: 'path' }, 'change', 'daemon'])}`)
  // A diff as it is, line by line, without anything that could move the cursor.
  for (const { diff } of changed)
    if (diff !== undefined) out(`\n${diff.trimEnd().split('\n').map(printable).join('\n')}\n`)
}

/** What the core gets once the service reads its configuration file again. */
async function showReload(host: CommandHost): Promise<void> {
  const { out, printable, printRecord, isJson } = host
  const { file, core } = await tried(host, {})
  if (isJson) return printRecord({ file, core })
  if (core === null) return out(`With ${printable(file)} as it is now, the core does not change.\n`)
  out(
    `When the service reads ${printable(file)} again (systemctl reload steeple): ${costWords(host, core)}.\n`,
  )
  showRemarks(host, core)
}

/** What phones are told: shown first where it cuts off phones. */
async function setTold(host: CommandHost): Promise<void> {
  const { typed, call, err, answer, usage, failure, printable, printRecord } = host
  const dns = typeof typed.dns === 'string' ? { 'core_a.dns': listIn(typed.dns) } : {}
  const name = typeof typed.networkName === 'string' ? { 'core_a.network_name': typed.networkName } : {}
  const settings = { ...name, ...dns }
  if (Object.keys(settings).length === 0) throw usage('say what to change: --network-name or --dns')
  const { core, lines, writable } = await tried(host, settings)
  if (core !== null && isCostly(core) && typed.yes !== true) {
    err(`${costWords(host, core)}. Nothing was changed. To do it, add --yes\n`)
    showRemarks(host, core)
    return answer(1)
  }
  if (!writable)
    throw failure(
      'settings_fixed',
      `the service may not write its configuration file. Write these lines into it, then reload it:\n${printable(lines)}`,
    )
  const { restarts, subscribers_dropped: dropped } = core ?? { restarts: [], subscribers_dropped: 0 }
  await call('PUT /v1/settings', { body: { settings } })
  printRecord({ ...settings, restarts, subscribers_dropped: dropped })
  if (core !== null) showRemarks(host, core)
}

function listIn(typed: string): readonly string[] {
  return typed.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
}

/** `PUT /v1/settings` as it answers a dry run. */
interface Tried {
  readonly file: string
  readonly lines: string
  readonly writable: boolean
  readonly core: Outlook | null
}

async function tried({ call }: CommandHost, settings: object): Promise<Tried> {
  const dry = { query: { dry_run: true }, body: { settings } }
  return (await call('PUT /v1/settings', dry)) as unknown as Tried // as the route documents it
}

/** Phones may lose the network by it. */
function isCostly(core: Outlook): boolean {
  return isCostUnknown(core) || (core.restarts.length > 0 && core.subscribers_dropped !== 0)
}

function costWords({ printable }: CommandHost, core: Outlook): string {
  const { restarts, subscribers_dropped: dropped } = core
  if (isCostUnknown(core)) return 'the effect on the core is not known'
  return restarts.length === 0 ? 'nothing restarts' : cutWords(restarts.map(printable), dropped)
}

function showRemarks({ out, err, printable, isJson }: CommandHost, { notes, problems }: Outlook): void {
  const note = isJson ? err : out
  for (const one of notes) note(`Note: ${printable(one)}\n`)
  for (const problem of problems) err(`Problem: ${printable(problem)}\n`)
}

/** What other settings do to the core, as `PUT /v1/settings` answers it. */
interface Outlook {
  readonly restarts: readonly string[]
  readonly subscribers_dropped: number | null
  readonly notes: readonly string[]
  readonly problems: readonly string[]
}

const WRAPPED_REASON = { value: 'reason', fit: 'wrap' } as const

/** With these the service looks at the core, and writes nothing. */
const LOOKING = { settings: { 'hss.driver': 'none', 'southbound.driver': 'none' } }

/** `POST /v1/core/restore-original` as it answers. */
interface Restored {
  readonly changed: readonly string[]
  readonly restarted: readonly string[]
  readonly subscribers_dropped: number | null
  readonly problem: string | null
  readonly edits: readonly string[]
  readonly kept: string | null
  readonly left: readonly string[]
}

const restored = async ({ call }: CommandHost, body: object): Promise<Restored> =>
  (await call('POST /v1/core/restore-original', { body })) as unknown as Restored // as the route documents it

/** What comes back of the files from before, whom that cuts off, and which edits by hand it undoes. */
async function restoreSteps(host: CommandHost, copy: string): Promise<readonly string[]> {
  const { printable } = host
  const {
    changed,
    restarted,
    subscribers_dropped: dropped,
    edits,
    kept,
    left,
  } = await restored(host, { dry_run: true })
  const files = `files that come back as they were: ${changed.map(printable).join(', ')} (${printable(copy)})`
  const cost =
    restarted.length === 0 ? ', and nothing restarts' : `; ${cutWords(restarted.map(printable), dropped)}`
  return [
    changed.length === 0 ? 'the files are as they were before, and nothing restarts' : `${files}${cost}`,
    ...(edits.length === 0
      ? []
      : [
          `edits by hand that are undone: ${edits.map(printable).join(', ')}; a copy is kept in ${printable(kept ?? '')}`,
        ]),
    ...(left.length === 0 ? [] : [`files that are yours and stay: ${left.map(printable).join(', ')}`]),
  ]
}

/** Who is in the core afterwards. */
function subscribersWords({ subscribers, others, rates }: Readonly<Record<string, unknown>>): string {
  const own = countText(Number(subscribers), 'subscriber')
  const foreign =
    typeof others === 'number'
      ? `and ${others} that ${others === 1 ? 'is' : 'are'} not of this service`
      : 'and all that are not of this service'
  const slow =
    Number(rates) === 0
      ? ''
      : `; ${Number(rates)} of them get back the AMBR that they had before they were slowed down`
  return `${own} of this service will stay in the core, ${foreign}${slow}`
}

/** Who of the suspended stays blocked, and how they are let on first. */
function blockedWords(found: Readonly<Record<string, unknown>>, isUnblocking: boolean): string {
  const ids = Array.isArray(found.blocked_ids) ? found.blocked_ids.map(String).join(', ') : ''
  const who = `${countText(Number(found.blocked), 'suspended SIM')} (${ids})`
  return isUnblocking
    ? `let on again first: ${who}`
    : `blocked in the core for good, since nobody lets them on after it: ${who}. To let them on first: --unblock`
}

async function release(host: CommandHost): Promise<void> {
  const { typed, call, err, out, printable, fields, answer, isJson } = host
  const { state, problems = [], originals = [], config_dir: dir } = await planOf(host)
  if (state === 'unknown')
    throw host.failure(
      'southbound_unavailable',
      `the files of the core cannot be looked at, so nothing is put back: ${problems.join('; ')}`,
    )
  const unblock = typed.unblock === true ? { unblock: true } : {}
  const found = await call('POST /v1/sims/release', { body: { dry_run: true, ...unblock } })
  const { lines, writable } = await call('PUT /v1/settings', { query: { dry_run: true }, body: LOOKING })
  const blocked = Number(found.blocked)
  const steps = [
    subscribersWords(found),
    ...(blocked === 0 ? [] : [blockedWords(found, typed.unblock === true)]),
    ...(originals[0] === undefined
      ? [`${dir === '' ? "the core's files" : `the files in ${printable(dir)}`} stay as they are`]
      : await restoreSteps(host, originals[0])),
    'the service then only looks: hss.driver and southbound.driver become none. The SIMs stay here as records',
  ]
  if (typed.yes !== true) {
    err(
      `${steps.map((step) => `- ${step}\n`).join('')}Nothing was changed. To do it: svc core release --yes\n`,
    )
    return answer(1)
  }
  if (writable !== true)
    throw host.failure(
      'settings_fixed',
      `the service may not write its configuration file. Write these lines into it, then run this again:\n${printable(String(lines))}`,
    )
  // Files first: while southbound.driver is none nothing restarts. Subscribers last, right before nobody writes to them any more.
  const files = originals.length === 0 ? undefined : await restored(host, {})
  const left = await call('POST /v1/sims/release', { body: unblock })
  await call('PUT /v1/settings', { body: LOOKING })
  const { changed = [], restarted = [], edits = [], kept, left: staying = [] } = files ?? {}
  const done = {
    ...left,
    ...{ files_restored: changed, restarted },
    ...(edits.length === 0 ? {} : { edits_undone: edits, edits_kept_in: kept }),
    ...(staying.length === 0 ? {} : { files_left: staying }),
  }
  if (isJson) return host.printRecord(done)
  out(fields(done))
  if (typeof files?.problem !== 'string') return
  err(`Problem: ${printable(files.problem)}\n`)
  answer(1)
}
