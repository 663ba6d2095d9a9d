import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { InstalledPlugin } from '@steeple/kernel'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { CommandError, failure } from '../command-error.ts'
import { printRecord } from '../output/print.ts'
import { type PlaceOptions, pluginsDirOf, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'

/** Options of `plugin load`: where the service is, and where its data directory. */
export type LoadOptions = ConnectionOptions & PlaceOptions

/** `name` with a slash is a folder: it is installed first, and taken back when the service does not load it. */
export async function loadPlugin(terminal: Terminal, name: string, options: LoadOptions): Promise<void> {
  if (!name.includes('/')) {
    await changePlugin(terminal, name, 'load', options).catch((error: unknown) => {
      throw withFolderHint(error, name, terminal)
    })
    return
  }
  const { installPlugin } = await import('@steeple/kernel')
  const pluginsDir = pluginsDirOf(await settingsHere(terminal, options))
  const installed = await installPlugin(resolve(terminal.cwd, name), pluginsDir)
  terminal.err(
    `${installed.isNew ? 'installed' : 'already installed:'} ${installed.id} ${installed.version} in ${installed.dir}\n`,
  )
  // The version that was named by its folder, not whatever is the highest.
  await changePlugin(terminal, installed.id, 'load', options, { version: installed.version }).catch(
    async (error: unknown) => {
      if (installed.isNew && isSettled(error)) await takeBack(terminal, installed, options)
      throw withPlaceHint(error, pluginsDir)
    },
  )
}

/** Whether it is certain that the service has not loaded it: not when its answer was lost. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof CommandError)) return true
  if (error.code !== 'unreachable') return error.code !== 'bad_answer' && error.code !== 'internal'
  return !['ETIMEDOUT', 'ECONNRESET', 'EPIPE'].includes(String(Object(error.cause).code))
}

async function takeBack(terminal: Terminal, installed: InstalledPlugin, options: LoadOptions): Promise<void> {
  await installed.takeBack()
  terminal.err(`removed ${installed.dir} again: it was not loaded\n`)
  try {
    const client = connect(terminal, options)
    const plugins = await client.list('/v1/plugins', 'plugins', Number.MAX_SAFE_INTEGER)
    const record = plugins.rows.find((row) => row.name === installed.id)
    // The service forgets what failed; with an older version running there is nothing to forget.
    if (record?.state === 'failed') await client.change('POST', `/v1/plugins/${installed.id}/unload`)
  } catch {
    // A service that cannot be asked has nothing to forget. Why the load failed is what matters.
  }
}

function withPlaceHint(error: unknown, pluginsDir: string): unknown {
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found') return error
  const hint = `the service looks elsewhere than in ${pluginsDir}; name its folder with --data-dir or --config`
  return failure(error.code, error.message, { ...error, hint, cause: error })
}

function withFolderHint(error: unknown, name: string, terminal: Terminal): unknown {
  const isFolder = existsSync(resolve(terminal.cwd, name, 'package.json'))
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found' || !isFolder) return error
  const hint = `to install the folder of that name, write ./${name}`
  return failure(error.code, error.message, { ...error, hint, cause: error })
}

/** Asks for a change of one plugin and prints what became of it. */
export async function changePlugin(
  terminal: Terminal,
  name: string,
  action: 'load' | 'unload' | 'reload',
  options: ConnectionOptions,
  request?: { readonly version: string },
): Promise<void> {
  const path = `/v1/plugins/${encodeURIComponent(name)}/${action}`
  const { body } = await connect(terminal, options).change('POST', path, request)
  printRecord(terminal, options.json === true, body)
}
