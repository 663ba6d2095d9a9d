import { type CommandHost, type Commands, countText } from '@steeple/contracts'
import { adopt, cutWords } from './adopt-command.ts'

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

/** `svc core plan`, `svc core adopt`, `svc core take-over`, `svc core release`, `svc core restart` */
export const commands: Commands = {
  'core plan': async (host) => {
    const { out, err, printable, fields, table, typed } = host
    const { apns, mcc, mnc, tac } = typed
    const plan = await planOf(host, { apns, mcc, mnc, tac })
    if (host.isJson) return host.printRecord(plan)
    const { files, daemons, problems = [], notes = [], overlays = [], ...short } = plan
    out(fields(short))
    for (const { path, keys } of overlays)
      out(
        `Yours in ${printable(path)}: ${keys.length === 0 ? 'all of it' : keys.map(printable).join(', ')}\n`,
      )
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
  },
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

const WRAPPED_REASON = { value: 'reason', fit: 'wrap' } as const

/** With these the service looks at the core, and writes nothing. */
const LOOKING = { settings: { 'hss.driver': 'none', 'southbound.driver': 'none' } }

/** What comes back of the files from before, and whom that cuts off. */
async function restoreWords({ call, printable }: CommandHost, copy: string): Promise<string> {
  const {
    changed,
    restarted,
    subscribers_dropped: dropped,
  } = (await call('POST /v1/core/restore-original', {
    body: { dry_run: true },
  })) as unknown as {
    readonly changed: readonly string[]
    readonly restarted: readonly string[]
    readonly subscribers_dropped: number | null
  } // as the route documents it
  if (changed.length === 0) return 'the files are as they were before, and nothing restarts'
  const files = `files that come back as they were: ${changed.map(printable).join(', ')} (${printable(copy)})`
  return restarted.length === 0
    ? `${files}, and nothing restarts`
    : `${files}; ${cutWords(restarted.map(printable), dropped)}`
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
  const { originals = [], config_dir: dir } = await planOf(host)
  const found = await call('POST /v1/sims/release', { body: { dry_run: true } })
  const { lines, writable } = await call('PUT /v1/settings', { query: { dry_run: true }, body: LOOKING })
  const blocked = Number(found.blocked)
  const steps = [
    `${countText(Number(found.subscribers), 'subscriber')} of this service will stay in the core; ` +
      `${printable(String(found.rates))} that were slowed down get their AMBR back`,
    ...(blocked === 0 ? [] : [blockedWords(found, typed.unblock === true)]),
    originals.length === 0
      ? `${dir === '' ? "the core's files" : `the files in ${printable(dir)}`} stay as they are`
      : await restoreWords(host, originals[0] ?? ''),
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
  const files =
    originals.length === 0 ? undefined : await call('POST /v1/core/restore-original', { body: {} })
  const left = await call('POST /v1/sims/release', {
    body: typed.unblock === true ? { unblock: true } : {},
  })
  await call('PUT /v1/settings', { body: LOOKING })
  const done = { ...left, files_restored: files?.changed ?? [], restarted: files?.restarted ?? [] }
  if (isJson) return host.printRecord(done)
  out(fields(done))
  if (typeof files?.problem !== 'string') return
  err(`Problem: ${printable(files.problem)}\n`)
  answer(1)
}
