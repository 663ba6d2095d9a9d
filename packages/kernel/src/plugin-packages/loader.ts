import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { findPackageJSON, isBuiltin, registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from '@steeple/contracts'
import type { FoundPlugin } from './manifest.ts'
import { sha256 } from './trust.ts'

/** Brings the code of plugins into the process. */
export interface Loader {
  /** Imports the entry and gives its `plugin` export. Each content of an entry file is a module of its own. */
  load(found: FoundPlugin): Promise<Plugin>
  /** Imports another module of the package, `./dist/commands.js`. */
  module(found: FoundPlugin, file: string): Promise<unknown>
  /** Takes the module hooks away. What is loaded stays loaded. */
  close(): void
}

const CONTRACTS = '@steeple/contracts'

/** The module URL of an entry whose content has that hash: another content is another module. */
function moduleUrl(entry: string, hash: string): string {
  return `${pathToFileURL(entry).href}?sha=${hash}`
}

/**
 * Maps `@steeple/contracts` to the host's copy for installed plugins, and refuses every other import of theirs that is
 * not Node's own: an installed plugin is one file, and its hash covers all of it. `modules` holds the checked bytes of
 * each such module until it is loaded, so that what was checked is what runs. Returns what takes the hooks away.
 */
function installHooks(contractsUrl: string, modules: Map<string, Uint8Array | undefined>): () => void {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      if (context.parentURL === undefined || !modules.has(context.parentURL)) return next(specifier, context)
      if (specifier === CONTRACTS) return { url: contractsUrl, shortCircuit: true }
      if (isBuiltin(specifier)) return next(specifier, context)
      // Node turns it into a rejected import; the registry wraps it in plugin_failed.
      throw new TypeError(`an installed plugin is one file: bundle ${specifier} into it`)
    },
    load: (url, context, next) => {
      const source = modules.get(url)
      if (source === undefined) return next(url, context)
      // Asked once: the module stays, its text need not.
      modules.set(url, undefined)
      return { format: 'module', source, shortCircuit: true }
    },
  })
  return () => hooks.deregister()
}

/** Makes the loader of a registry. `contractsUrl` is the file URL of the host's contracts. */
export function createLoader(contractsUrl: string): Loader {
  const modules = new Map<string, Uint8Array | undefined>()
  let remove: (() => void) | undefined
  const module = async (found: FoundPlugin, file: string): Promise<unknown> => {
    const path = resolve(found.dir, file)
    const bytes = await readFile(path)
    const hash = sha256(bytes)
    const url = moduleUrl(path, hash)
    if (found.origin === 'installed') {
      const name = relative(found.dir, path)
      if (hash !== found.sha256?.get(name)) throw new TypeError(`${name} was changed after it was installed`)
      remove ??= installHooks(contractsUrl, modules)
      if (!modules.has(url)) modules.set(url, bytes)
    }
    return await import(url)
  }
  return {
    module,
    load: async (found) => pluginOf(await module(found, found.entry)),
    close: () => remove?.(),
  }
}

/** The `plugin` export of a module. Throws when it has none. */
function pluginOf(module: unknown): Plugin {
  const plugin: unknown = typeof module === 'object' && module !== null && Reflect.get(module, 'plugin')
  if (typeof plugin !== 'object' || plugin === null || typeof Reflect.get(plugin, 'setup') !== 'function') {
    throw new TypeError('the module exports no `plugin` with a `setup` function')
  }
  // Its shape is checked as far as a running program can; the rest is the type checker's.
  return plugin as Plugin
}

/** The copy of `@steeple/contracts` that the service runs with: file URL of its entry, and its version. */
interface HostContracts {
  readonly contractsUrl: string
  readonly contractsVersion: string
}

/** Finds it beside the kernel. */
export function hostContracts(): HostContracts {
  const path = findPackageJSON('@steeple/contracts', import.meta.url)
  if (path === undefined) throw new TypeError('@steeple/contracts has no package.json')
  // The file is part of the build.
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }
  return { contractsUrl: import.meta.resolve('@steeple/contracts'), contractsVersion: version }
}
