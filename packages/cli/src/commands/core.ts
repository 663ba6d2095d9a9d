import type { AnswerOf } from '@steeple/client'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { printRecord } from '../output/print.ts'
import { fields, printable, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { restCommand } from './options.ts'

/** `svc core plan`, `take-over`, `restore-original` */
export const CORE_COMMANDS: readonly CommandEntry[] = [
  { group: 'core', summary: 'the mobile core' },
  (program, terminal) => {
    restCommand(program, 'core plan', "what a change of the core's configuration would do now").action(
      (options: ConnectionOptions) => plan(terminal, options),
    )
    restCommand(
      program,
      'core take-over',
      'agree that files of the core that others wrote are replaced; a copy is kept',
    )
      .option('--yes', 'agree; without it the files are named and nothing is done')
      .action((options: ConnectionOptions & { readonly yes?: boolean }) => takeOver(terminal, options))
  },
  {
    usage: 'core restore-original [copy]',
    summary: 'put files back as they were before the service replaced them: that copy, else the oldest',
    operation: 'POST /v1/core/restore-original',
    expects: { problem: null },
  },
]

async function takeOver(
  terminal: Terminal,
  options: ConnectionOptions & { readonly yes?: boolean },
): Promise<void> {
  const service = connect(terminal, options)
  const { held: files, config_dir: dir } = (await service.get('/v1/core/plan')).data
  if (files.length > 0 && options.yes !== true) {
    terminal.err(
      `These files in ${printable(dir)} would be replaced, and a copy of them kept:\n` +
        `${files.map((path) => `  ${printable(path)}\n`).join('')}` +
        'svc core plan shows what changes in them. To agree: svc core take-over --yes\n',
    )
    return terminal.answer(1)
  }
  const { data } = await service.post('/v1/core/take-over', { body: { files } })
  printRecord(terminal, options, data)
}

type Plan = AnswerOf<'GET', '/v1/core/plan'>

async function plan(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { data } = await connect(terminal, options).get('/v1/core/plan')
  if (options.json === true) return printRecord(terminal, options, data)
  const { files, daemons, problems = [], notes = [], ...short } = data
  terminal.out(fields(short))
  for (const note of notes) terminal.out(`Note: ${printable(note)}\n`)
  for (const problem of problems) terminal.err(`Problem: ${printable(problem)}\n`)
  // Where nothing is compared a list of all that the core would get says nothing.
  if (data.state === 'unconfigured' || data.state === 'unknown') {
    if (files.length > 0) terminal.out(`\n${rendered(files)}`)
    return
  }
  if (daemons.length > 0) terminal.out(`\n${daemonTable(terminal, daemons)}`)
  const changed = files.filter((row) => row.change !== 'same')
  if (changed.length > 0)
    terminal.out(
      `\n${table(changed, [{ title: 'FILE', value: 'path' }, 'change', 'daemon'], terminal.columns)}`,
    )
  for (const { diff } of changed) if (diff !== undefined) terminal.out(`\n${shown(diff)}`)
}

function daemonTable(terminal: Terminal, daemons: Plan['daemons']): string {
  return table(
    daemons,
    [
      { title: 'DAEMON', value: 'name' },
      'container',
      'action',
      { title: 'DROPS', value: (row) => (row.action === 'restart' ? row.drops : undefined) },
      { value: 'reason', fit: 'wrap' },
    ],
    terminal.columns,
  )
}

/** What would be written if there were a place for it. */
function rendered(files: Plan['files']): string {
  const names = files.map(({ path }) => printable(path))
  return `Rendered: ${names.length} files (${names.join(', ')}).\n`
}

/** A diff as it is, line by line, without anything that could move the cursor. */
function shown(diff: string): string {
  const lines = diff.trimEnd().split('\n')
  return lines.map((line) => `${printable(line)}\n`).join('')
}
