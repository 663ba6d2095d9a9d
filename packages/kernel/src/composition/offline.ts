import { existsSync } from 'node:fs'
import {
  type AuditTrail,
  type Clock,
  type Log,
  type Manifest,
  type Plugin,
  type PluginKind,
  type Settings,
  storeInvalid,
  type TableSpec,
} from '@steeple/contracts'
import { checkVaultKey, createVault, type KernelVault, type Secrets } from '@steeple/secrets'
import type { Section } from '@steeple/settings'
import { type Database, openDatabase } from '@steeple/store'
import semver from 'semver'
import { auditAnchor, createAuditTrail } from '../audit/audit-trail.ts'
import { offlineMutations } from '../mutation/create-mutations.ts'
import { KERNEL_TABLES } from '../mutation/kernel-tables.ts'
import type { Mutations } from '../mutation/mutations.ts'
import { type PluginSources, scanSources } from '../plugin-packages/catalogue.ts'
import { createKeptStates } from '../plugin-packages/kept-states.ts'
import { createLoader, hostContracts } from '../plugin-packages/loader.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { SignaturePolicy } from '../plugin-packages/trust.ts'
import { contractsProblem, leftOutBecause } from '../plugins/moves.ts'
import { fileOf, lockPlace, storeUrlOf } from './data-dir-lock.ts'

/** What `openOffline` opens. */
export interface OfflineOptions {
  readonly settings: Settings
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  /** `read`: beside a running service, and nothing may be changed. `exclusive`: while no service runs. */
  readonly use: 'read' | 'exclusive'
}

/** The store of a node without a running kernel. */
export interface OfflineStore {
  readonly db: Database
  readonly vault: KernelVault
  readonly audit: AuditTrail
  /** The one mutation path; only with `use: 'exclusive'`. */
  mutations(): Mutations
  close(): Promise<void>
}

/**
 * Opens the store for a command. It is not migrated and never made.
 *
 * Throws `store_invalid` when there is none, `secrets_invalid` when the vault key is not its, `data_dir_in_use` when `exclusive` is asked for while a service runs.
 */
export async function openOffline(options: OfflineOptions): Promise<OfflineStore> {
  const { settings, secrets, clock, log, use } = options
  const url = storeUrlOf(settings)
  const file = fileOf(url)
  if (file !== undefined && !existsSync(file))
    throw storeInvalid(`there is no store ${file}; the first start makes it`)
  const lock = use === 'exclusive' ? lockPlace(settings.server.data_dir, url) : undefined
  try {
    const db = await openDatabase({ url, clock, log })
    const { auditKey, directory } = secrets
    const anchor = auditAnchor(directory, auditKey)
    const vault = createVault(secrets.keyring)
    await checkVaultKey(db, vault, directory).catch(async (error: unknown) => {
      await db.close()
      throw error
    })
    return {
      db,
      vault,
      mutations: () => offlineMutations({ db, vault, clock, auditKey }),
      audit: createAuditTrail({ db, clock, auditKey, anchor }),
      close: async () => {
        await db.close()
        lock?.release()
      },
    }
  } catch (error) {
    lock?.release()
    throw error
  }
}

/** A plugin in the version that the service would run here. */
export interface PluginHere {
  readonly manifest: Manifest
  /** What its manifest says of the configuration. */
  readonly section: Section
  readonly origin: FoundPlugin['origin']
  /** Its code, checked as the service checks it. */
  load(): Promise<Plugin>
  /** Another module of its package, `./dist/commands.js`, checked as well. */
  module(file: string): Promise<unknown>
}

/** The plugins that the service would run with these settings, drivers first. Nothing of theirs has run. */
export async function pluginsHere(
  sources: Required<Pick<PluginSources, 'packages' | 'pluginsDir'>>,
  settings: Settings,
): Promise<readonly PluginHere[]> {
  const { contractsUrl, contractsVersion } = hostContracts()
  const policy = (): SignaturePolicy => settings.plugins
  const { found } = await scanSources({ ...sources, policy })
  const kept = createKeptStates(sources.pluginsDir, undefined)
  const loader = createLoader(contractsUrl)
  const usable = found
    .filter((one) => contractsProblem(one, contractsVersion) === undefined)
    .filter((one) => leftOutBecause(settings, kept, false, one) === undefined)
    .filter((one) => kept.failureOf(one) === undefined)
  const ids = [...new Set(usable.map(({ manifest }) => manifest.id))]
  return ids
    .flatMap((id) => {
      const versions = usable
        .filter(({ manifest }) => manifest.id === id)
        .sort((a, b) => semver.rcompare(a.version, b.version))
      return versions.find(({ version }) => version === kept.of(id).version) ?? versions[0] ?? []
    })
    .sort((a, b) => KINDS.indexOf(a.manifest.kind) - KINDS.indexOf(b.manifest.kind))
    .map((one) => ({
      manifest: one.manifest,
      section: one.section,
      origin: one.origin,
      load: () => loader.load(one),
      module: (file) => loader.module(one, file),
    }))
}

const KINDS: readonly PluginKind[] = ['hss', 'core', 'ran', 'collector', 'feature']

/**
 * The checksummed tables of the kernel and of every plugin that can be imported. Their modules are imported, none is
 * set up. Tables of one that cannot be imported are left out.
 */
export async function offlineTables(sources: PluginSources): Promise<readonly TableSpec[]> {
  const { found } = await scanSources(sources)
  const loader = createLoader(hostContracts().contractsUrl)
  try {
    const loaded = await Promise.allSettled(found.map((plugin) => loader.load(plugin)))
    const plugins = loaded.filter((result) => result.status === 'fulfilled').map((result) => result.value)
    return [...KERNEL_TABLES, ...plugins.flatMap((plugin) => plugin.tables ?? [])]
  } finally {
    loader.close()
  }
}
