import { type CommandHost, type Commands, countText } from '@steeple/contracts'

/** A plan as `GET /v1/core/plan` answers it. */
interface Plan {
  readonly state: string
  readonly held: readonly string[]
  readonly config_dir: string
  readonly files: readonly { readonly path: string; readonly change: string; readonly diff?: string }[]
  readonly daemons: readonly { readonly action: string; readonly drops: unknown }[]
  readonly problems?: readonly string[]
  readonly notes?: readonly string[]
}

const planOf = async ({ call }: CommandHost): Promise<Plan> =>
  (await call('GET /v1/core/plan')) as unknown as Plan // as the route documents it

/** `svc core plan`, `svc core take-over` */
export const commands: Commands = {
  'core plan': async (host) => {
    const { out, err, printable, fields, table } = host
    const plan = await planOf(host)
    if (host.isJson) return host.printRecord(plan)
    const { files, daemons, problems = [], notes = [], ...short } = plan
    out(fields(short))
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
}

const WRAPPED_REASON = { value: 'reason', fit: 'wrap' } as const
