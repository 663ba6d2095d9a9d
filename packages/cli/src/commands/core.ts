import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json, objectsOf } from '../client/rest-client.ts'
import { jsonText, printRecord } from '../output/print.ts'
import { fields, printable, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc core plan`, `take-over`, `restore-original` */
export function addCoreCommands(program: Command, terminal: Terminal): void {
  const core = program.command('core').description('the mobile core')
  restCommand(core, 'plan', "what a change of the core's configuration would do now").action(
    (options: ConnectionOptions) => plan(terminal, options),
  )
  restCommand(
    core,
    'take-over',
    'agree that files of the core that others wrote are replaced; a copy is kept',
  )
    .option('--yes', 'agree; without it the files are named and nothing is done')
    .action((options: ConnectionOptions & { readonly yes?: boolean }) => takeOver(terminal, options))
  restCommand(
    core,
    'restore-original [copy]',
    'put files back as they were before the service replaced them: that copy, else the oldest',
  ).action(async (copy: string | undefined, options: ConnectionOptions) => {
    const given = copy === undefined ? {} : { copy }
    const { body } = await connect(terminal, options).change('POST', '/v1/core/restore-original', given)
    printRecord(terminal, options.json === true, body)
    if (body.problem !== null) terminal.answer(1)
  })
}

async function takeOver(
  terminal: Terminal,
  options: ConnectionOptions & { readonly yes?: boolean },
): Promise<void> {
  const client = connect(terminal, options)
  const { held, config_dir: dir } = (await client.get('/v1/core/plan')).body
  const files = texts(held)
  if (files.length > 0 && options.yes !== true) {
    terminal.err(
      `These files in ${printable(String(dir))} would be replaced, and a copy of them kept:\n` +
        `${files.map((path) => `  ${printable(path)}\n`).join('')}` +
        'svc core plan shows what changes in them. To agree: svc core take-over --yes\n',
    )
    terminal.answer(1)
    return
  }
  const { body } = await client.change('POST', '/v1/core/take-over', { files })
  printRecord(terminal, options.json === true, body)
}

async function plan(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get('/v1/core/plan')
  if (options.json === true) {
    terminal.out(jsonText(body))
    return
  }
  const { files, daemons, problems, notes, ...short } = body
  terminal.out(fields(short))
  for (const note of texts(notes)) terminal.out(`Note: ${printable(note)}\n`)
  for (const problem of texts(problems)) terminal.err(`Problem: ${printable(problem)}\n`)
  // Where nothing is compared a list of all that the core would get says nothing.
  if (body.state === 'unconfigured' || body.state === 'unknown') {
    if (objectsOf(files).length > 0) terminal.out(`\n${rendered(objectsOf(files))}`)
    return
  }
  if (objectsOf(daemons).length > 0) terminal.out(`\n${daemonTable(terminal, objectsOf(daemons))}`)
  const changed = objectsOf(files).filter((row) => row.change !== 'same')
  if (changed.length > 0) terminal.out(`\n${fileTable(terminal, changed)}`)
  for (const { diff } of changed) if (typeof diff === 'string') terminal.out(`\n${shown(diff)}`)
}

function daemonTable(terminal: Terminal, daemons: readonly Json[]): string {
  return table(
    daemons,
    [
      { title: 'DAEMON', value: (row) => row.name },
      { title: 'CONTAINER', value: (row) => row.container },
      { title: 'ACTION', value: (row) => row.action },
      { title: 'DROPS', value: (row) => (row.action === 'restart' ? row.drops : undefined) },
      { title: 'REASON', value: (row) => row.reason, fit: 'wrap' },
    ],
    terminal.columns,
  )
}

function fileTable(terminal: Terminal, changed: readonly Json[]): string {
  return table(
    changed,
    [
      { title: 'FILE', value: (row) => row.path },
      { title: 'CHANGE', value: (row) => row.change },
      { title: 'DAEMON', value: (row) => row.daemon },
    ],
    terminal.columns,
  )
}

/** What would be written if there were a place for it. */
function rendered(files: readonly Json[]): string {
  const names = files.map(({ path }) => printable(String(path)))
  return `Rendered: ${names.length} files (${names.join(', ')}).\n`
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** A diff as it is, line by line, without anything that could move the cursor. */
function shown(diff: string): string {
  return diff
    .trimEnd()
    .split('\n')
    .map((line) => `${printable(line)}\n`)
    .join('')
}
