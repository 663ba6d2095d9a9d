import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

/** `svc secret set|remove|list`: what plugins keep secret. */
export function addSecretCommands(program: Command, terminal: Terminal): void {
  const secret = program.command('secret').description('secrets of plugins; no command shows a value')
  restCommand(
    secret,
    'set <plugin> <key>',
    'seal what standard input holds as the value; the plugin alone can read it',
  ).action((plugin: string, key: string, options: ConnectionOptions) => set(terminal, plugin, key, options))
  restCommand(secret, 'remove <plugin> <key>', 'remove the sealed value').action(
    async (plugin: string, key: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).change('DELETE', pathOf(plugin, key))
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(secret, 'list <plugin>', 'the secrets of a plugin and where each value is').action(
    async (plugin: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get(
        `/v1/plugins/${encodeURIComponent(plugin)}/secrets`,
      )
      const rows = body.secrets as readonly Readonly<Record<string, unknown>>[] // checked by the service
      printList(terminal, options.json === true, { key: 'secrets', rows, nextCursor: null }, [
        { title: 'KEY', value: (row) => row.key, fit: 'whole' },
        { title: 'VALUE FROM', value: (row) => row.from },
      ])
    },
  )
}

async function set(
  terminal: Terminal,
  plugin: string,
  key: string,
  options: ConnectionOptions,
): Promise<void> {
  const value = (await terminal.input()).replace(/\r?\n$/, '')
  if (value === '')
    throw failure(
      'no_value',
      'standard input is empty; give the value there: svc secret set PLUGIN KEY < FILE',
    )
  const { body } = await connect(terminal, options).change('PUT', pathOf(plugin, key), { value })
  printRecord(terminal, options.json === true, body)
}

function pathOf(plugin: string, key: string): string {
  return `/v1/plugins/${encodeURIComponent(plugin)}/secrets/${encodeURIComponent(key)}`
}
