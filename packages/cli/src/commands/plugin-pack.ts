import { existsSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { makeSigningKey, readSigningKey } from '@steeple/contracts'
import type { Command } from 'commander'
import { failure, usageError } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { localCommand } from './options.ts'

interface KeyOptions {
  readonly name?: string
  readonly json?: boolean
}

interface PackOptions {
  readonly key?: string
  readonly unsigned?: boolean
  readonly out?: string
  readonly json?: boolean
}

/** `svc plugin key|pack` */
export function addPackCommands(program: Command, terminal: Terminal): void {
  localCommand(
    program,
    'plugin key <file>',
    'make a key to sign plugins, unless it exists, and print the line for plugins.trust',
  )
    .option('--name <name>', 'name of the person or team with the key (default: the name of the file)')
    .action((file: string, options: KeyOptions) => key(terminal, file, options))
  localCommand(program, 'plugin pack [dir]', 'make a signed package of a built plugin: <id>-<version>.tgz')
    .option('--key <file>', 'key from svc plugin key')
    .option('--unsigned', 'without a signature')
    .option('--out <dir>', 'folder to write to (default: that of the plugin)')
    .action((dir: string | undefined, options: PackOptions) => pack(terminal, dir ?? '.', options))
}

async function key(terminal: Terminal, name: string, options: KeyOptions): Promise<void> {
  const { keyId } = await import('@steeple/kernel')
  const file = resolve(terminal.cwd, name)
  const whose = options.name ?? basename(file, extname(file))
  if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(whose))
    throw usageError(
      `${JSON.stringify(whose)} is no name of a key; --name takes letters, digits, ".", "_", "@" and "-"`,
    )
  const isThere = existsSync(file)
  if (!isThere && !existsSync(dirname(file)))
    throw failure('file_unreadable', `there is no folder ${dirname(file)}`)
  const { publicKey } = await (isThere ? readSigningKey(file) : makeSigningKey(file)).catch(refuse)
  const entry = `${publicKey} ${whose}`
  const id = keyId(publicKey)
  if (options.json === true) {
    terminal.out(jsonText({ file, trust: entry, id, made: !isThere }))
    return
  }
  if (!isThere) terminal.err(`made ${file}: keep it to yourself; who has it can sign as ${whose}\n`)
  terminal.err(`key ${id}; for the configuration of each service that shall load what it signs:\n`)
  terminal.out(`plugins: {trust: ["${entry}"]}\n`)
}

async function pack(terminal: Terminal, name: string, options: PackOptions): Promise<void> {
  if ((options.key === undefined) === (options.unsigned !== true))
    throw usageError(
      '--key FILE says who signs (svc plugin key FILE makes one), or --unsigned that nobody does',
    )
  const { packPlugin } = await import('@steeple/kernel')
  const dir = resolve(terminal.cwd, name)
  const signing =
    options.key === undefined
      ? undefined
      : await readSigningKey(resolve(terminal.cwd, options.key)).catch(refuse)
  const out = options.out === undefined ? dir : resolve(terminal.cwd, options.out)
  const packed = await packPlugin(dir, { out, ...(signing === undefined ? {} : { key: signing }) })
  const { id, version, file, signedBy, warnings } = packed
  for (const warning of warnings) terminal.err(`svc: warning: ${warning}\n`)
  if (options.json === true) terminal.out(jsonText({ ...packed, signedBy: signedBy ?? null }))
  else {
    terminal.err(
      `${id} ${version}, ${signedBy === undefined ? 'not signed' : `signed with the key ${signedBy}`}\n`,
    )
    terminal.out(`${join(file)}\n`)
  }
}

/** What is wrong with a key file, as a word to a person. */
function refuse(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  throw failure('key_invalid', message, { cause: error })
}
