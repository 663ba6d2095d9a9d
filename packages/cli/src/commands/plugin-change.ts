import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { codeOf } from '@steeple/http-client'
import type { InstalledPlugin } from '@steeple/kernel'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/service.ts'
import { CommandError, failure, fileOf } from '../command-error.ts'
import { printRecord } from '../output/print.ts'
import { type PlaceOptions, pluginsDirOf, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'

/** Options of `plugin load`: where the service is, and where its data directory. */
export type LoadOptions = ConnectionOptions & PlaceOptions & { readonly allowUnsigned?: boolean }

/**
 * `name` with a slash is a folder, and so are `.` and `..`; one that ends in `.tgz` a package: it is installed first, and taken
 * back when the service does not load it. A package goes to the service, which looks who has signed it; what nobody has is put
 * into the data directory here, by somebody who may write there and says so.
 */
export async function loadPlugin(terminal: Terminal, name: string, options: LoadOptions): Promise<void> {
  const isPackage = name.endsWith('.tgz')
  const path = resolve(terminal.cwd, name)
  const load = async (): Promise<Json> => {
    if (isPackage && options.allowUnsigned !== true) return await sendPackage(terminal, path, options)
    if (isPackage || isFolder(name)) return await installAndLoad(terminal, path, options)
    return await askForChange(terminal, name, 'load', options).catch((error: unknown) => {
      throw withFolderHint(error, name, terminal)
    })
  }
  printRecord(terminal, options, await load())
}

function isFolder(name: string): boolean {
  return name.includes('/') || name === '.' || name === '..'
}

/** Sends a package to the service, which installs and loads it. */
async function sendPackage(terminal: Terminal, path: string, options: LoadOptions): Promise<Json> {
  const bytes = await fileOf(path)
  // It is read once, so that a service that does not want it may say so before it has come.
  const body = { type: 'application/gzip', content: ReadableStream.from([Uint8Array.from(bytes)]) } as const
  const headers = { 'content-length': String(bytes.length) }
  return (await connect(terminal, options).post('/v1/plugins', { body, headers })).data
}

/** Installs what lies at an absolute path, under another version when one is named, and loads exactly that. */
export async function installAndLoad(
  terminal: Terminal,
  path: string,
  options: LoadOptions,
  version?: string,
): Promise<Json> {
  const { installPlugin } = await import('@steeple/kernel')
  const settings = await settingsHere(terminal, options)
  const pluginsDir = pluginsDirOf(settings)
  await checkPlace(terminal, settings.server.data_dir, pluginsDir, options)
  const isAsked = options.allowUnsigned === true
  const { trust, allow_unsigned: isAllowed } = settings.plugins
  const installed = await installPlugin(path, pluginsDir, {
    policy: { trust, allow_unsigned: isAsked || isAllowed },
    isUnderSetting: !isAsked,
    ...(version === undefined ? {} : { version }),
  })
  terminal.err(
    `${installed.isNew ? 'installed' : 'already installed:'} ${installed.id} ${installed.version} in ${installed.dir}\n`,
  )
  // What was installed here and now, not whatever is the highest or called the same.
  const request = { version: installed.version, folder: basename(installed.dir) }
  try {
    return await askForChange(terminal, installed.id, 'load', options, request)
  } catch (error) {
    if (installed.isNew && isSettled(error)) await takeBack(terminal, installed, options)
    throw withPlaceHint(error, pluginsDir)
  }
}

/**
 * Throws `plugin_not_found` when the data directory is not that of the service that answers, and whatever keeps it from
 * answering: nothing is written into the folders of a service that is another, or none.
 */
async function checkPlace(
  terminal: Terminal,
  dataDir: string,
  pluginsDir: string,
  options: LoadOptions,
): Promise<void> {
  const asked = await connect(terminal, options)
    .get('/v1/status')
    .catch((error: unknown) => {
      // A service that is starting does not tell yet.
      if (error instanceof CommandError && error.code === 'not_ready') return undefined
      throw error
    })
  if (asked === undefined || asked.data.node_id === (await nodeIn(dataDir))) return
  throw failure('plugin_not_found', `the service is not the one of ${dataDir}; nothing was installed`, {
    hint: placeHint(pluginsDir),
  })
}

/** The node whose data directory it is; undefined when it is none, or not ours to read. */
async function nodeIn(dataDir: string): Promise<string | undefined> {
  const { openSecrets } = await import('@steeple/secrets')
  try {
    return openSecrets(dataDir).identity.nodeId
  } catch {
    return undefined
  }
}

/** Whether it is certain that the service has not loaded it: not when its answer was lost. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof CommandError)) return true
  if (error.code !== 'unreachable') return error.code !== 'bad_answer' && error.code !== 'internal'
  return !['ETIMEDOUT', 'ECONNRESET', 'EPIPE'].includes(codeOf(error.cause))
}

async function takeBack(terminal: Terminal, installed: InstalledPlugin, options: LoadOptions): Promise<void> {
  await installed.takeBack()
  terminal.err(`removed ${installed.dir} again: it was not loaded\n`)
  try {
    // The service forgets what failed.
    await askForChange(terminal, installed.id, 'uninstall', options, { version: installed.version })
  } catch {
    // A service that cannot be asked has nothing to forget. Why the load failed is what matters.
  }
}

function withPlaceHint(error: unknown, pluginsDir: string): unknown {
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found') return error
  return failure(error.code, error.message, { ...error, hint: placeHint(pluginsDir), cause: error })
}

function placeHint(pluginsDir: string): string {
  return `the service looks elsewhere than in ${pluginsDir}; name its folder with --data-dir or --config`
}

function withFolderHint(error: unknown, name: string, terminal: Terminal): unknown {
  const isFolder = existsSync(resolve(terminal.cwd, name, 'package.json'))
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found' || !isFolder) return error
  const hint = `to install the folder of that name, write ./${name}`
  return failure(error.code, error.message, { ...error, hint, cause: error })
}

/** What can be done to a plugin over REST. */
export type PluginAction = 'load' | 'unload' | 'reload' | 'disable' | 'enable' | 'uninstall'

interface ChangeRequest {
  readonly version?: string
  readonly rollback?: boolean
  readonly folder?: string
}

/** The plugin's record after the change. */
export async function askForChange(
  terminal: Terminal,
  name: string,
  action: PluginAction,
  options: ConnectionOptions,
  body?: ChangeRequest,
): Promise<Json> {
  return await connect(terminal, options).any(`POST /v1/plugins/{name}/${action}`, { path: { name }, body })
}

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
  const changed = await askForChange(terminal, name, action, options, request).catch((error: unknown) => {
    if (!(error instanceof CommandError) || error.code !== 'unreachable') throw error
    const hint = `when the service does not run: svc plugin ${action} ${name} --offline`
    throw failure(error.code, error.message, { ...error, hint, cause: error })
  })
  printRecord(terminal, options, changed)
}

async function changeFiles(
  terminal: Terminal,
  name: string,
  action: 'disable' | 'enable' | 'uninstall',
  options: LastingOptions,
  version: string | undefined,
): Promise<void> {
  const { disableOffline, uninstallOffline } = await import('@steeple/kernel')
  const { settledHere } = await import('../offline/own-store.ts')
  const settings = await settledHere(terminal, options)
  const place = { dataDir: resolve(settings.server.data_dir), pluginsDir: pluginsDirOf(settings) }
  if (action === 'uninstall') {
    for (const dir of await uninstallOffline(place, name, version)) terminal.out(`removed ${dir}\n`)
    return
  }
  await disableOffline(place, name, action === 'disable')
  terminal.out(`${name} is ${action}d from the next start on\n`)
}
