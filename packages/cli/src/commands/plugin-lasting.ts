import { resolve } from 'node:path'
import type { ConnectionOptions } from '../client/credentials.ts'
import { CommandError, failure } from '../command-error.ts'
import { type PlaceOptions, pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { changePlugin } from './plugin-change.ts'

/** Options of what lasts over restarts. */
export type LastingOptions = ConnectionOptions & PlaceOptions & { readonly offline?: boolean }

/** Changes what every later start does with a plugin: through the service, or on its files while it does not run. */
export async function changeForGood(
  terminal: Terminal,
  name: string,
  action: 'disable' | 'enable' | 'uninstall',
  options: LastingOptions,
  version?: string,
): Promise<void> {
  if (options.offline === true) {
    await changeFiles(terminal, name, action, options, version)
    return
  }
  const request = version === undefined ? undefined : { version }
  await changePlugin(terminal, name, action, options, request).catch((error: unknown) => {
    if (!(error instanceof CommandError) || error.code !== 'unreachable') throw error
    const hint = `when the service does not run: svc plugin ${action} ${name} --offline`
    throw failure(error.code, error.message, { ...error, hint, cause: error })
  })
}

async function changeFiles(
  terminal: Terminal,
  name: string,
  action: 'disable' | 'enable' | 'uninstall',
  options: LastingOptions,
  version: string | undefined,
): Promise<void> {
  const { disableOffline, uninstallOffline } = await import('@steeple/kernel')
  const { settledHere } = await import('../offline/settled-here.ts')
  const settings = await settledHere(terminal, options)
  const place = { dataDir: resolve(settings.server.data_dir), pluginsDir: pluginsDirOf(settings) }
  if (action === 'uninstall') {
    for (const dir of await uninstallOffline(place, name, version)) terminal.out(`removed ${dir}\n`)
    return
  }
  await disableOffline(place, name, action === 'disable')
  terminal.out(`${name} is ${action}d from the next start on\n`)
}
