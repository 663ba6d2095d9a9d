import { type Clock, coreConfigRefused, southboundUnavailable } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import { type Backups, backupsIn } from './backups.ts'
import type { Restart } from './daemon.ts'
import type { AppliedFile, Manifest } from './manifest.ts'
import { appliedFiles, type ConfigSet, type ConfigSetPlan, isRestartable, planConfigSet } from './plan.ts'
import { readManifest } from './read-set.ts'
import { type RestartParts, restartAll } from './restart-set.ts'
import { renderedOf, sha256Of } from './sha256.ts'
import { DEFAULT_LIMITS, type Limits, type Probe } from './verify.ts'
import { removeLeftovers, stageFiles, writeManifest } from './write-set.ts'

/** A set to apply, and with what. */
export interface ApplyOptions extends ConfigSet {
  readonly engine: Engine
  /** Where copies of good sets are kept; made when it is needed, mode 0700. */
  readonly backupDir: string
  readonly clock: Clock
  /** Asked for each restarted daemon once all of them are up. Without it a container that stays up is well. */
  readonly probe?: Probe | undefined
  readonly limits?: Partial<Limits> | undefined
  /** What the set is remembered by when the core refuses it; the hash of its files when absent. */
  readonly key?: string | undefined
  /** Told of each restart, those of a roll-back included. */
  restarted?(daemon: string): void
}

/** What an apply did. */
export interface ApplyResult {
  readonly changed: readonly string[]
  readonly restarted: readonly string[]
  /** Daemons whose files changed, but that nobody restarts: no container is named. */
  readonly unmanaged: readonly string[]
}

/**
 * Makes the core run with a configuration set: writes what differs, restarts whom it concerns, sees that they get well.
 * Idempotent, and safe to be killed at any point: the next apply goes on.
 *
 * Throws
 * - `southbound_unavailable`: the directory or the engine cannot be used, or a container is missing. Nothing was
 *   changed, or the next apply takes it up again.
 * - `core_config_refused`: a daemon did not get well with it. The last good files are back and the daemons were
 *   restarted with them; the message says which daemon, its own last words, and how the way back went.
 * - the signal's reason.
 */
export async function applyConfigSet(options: ApplyOptions, signal: AbortSignal): Promise<ApplyResult> {
  signal.throwIfAborted()
  const plan = await planConfigSet(options)
  const { manifest } = plan.state
  if (plan.isInSync) {
    // The core runs with it, so what it refused in between is history.
    if (manifest.refused !== undefined) await writeManifest(options.dir, { ...manifest, refused: undefined })
    return { changed: [], restarted: [], unmanaged: [] }
  }
  const restarts = plan.state.restarts.filter(isRestartable)
  for (const restart of restarts) await expectContainer(options.engine, restart, signal)
  const backups = backupsIn(options.backupDir)
  const fallback = await fallbackOf(plan, backups, options.clock)
  // Before anything is touched: what fails only afterwards would have the core restarted again and again.
  const copy = await backups.keep(options.files, options.clock.nowMs())
  const touched = plan.files.filter(({ change }) => change !== 'same')
  const begun = await write(options, plan, fallback, signal)
  const parts = partsOf(options)
  const { restarted, unwell } = await restartAll(plan.state.restarts, parts, signal)
  if (unwell !== undefined) {
    const again = plan.state.restarts.filter(
      (one) => restarted.includes(one) || manifest.pending?.daemons.includes(one.daemon.name) === true,
    )
    const words = await rollBack(options, begun, again, backups, signal)
    const why = `${unwell.restart.daemon.name} does not get well with its new configuration: ${unwell.words}`
    await refuse(options, why)
    if (copy.isNew) await backups.drop(copy.name)
    throw coreConfigRefused(`${why}. ${words}`)
  }
  await finish(options, plan, copy.name)
  await backups.prune([copy.name]).catch(() => undefined) // too many copies are no reason to fail
  return {
    changed: touched.map(({ path }) => path),
    restarted: restarted.map(({ daemon }) => daemon.name),
    unmanaged: plan.state.restarts.filter((one) => !isRestartable(one)).map(({ daemon }) => daemon.name),
  }
}

function partsOf({ engine, limits, probe, restarted }: ApplyOptions): RestartParts {
  return {
    engine,
    limits: { ...DEFAULT_LIMITS, ...limits },
    probe,
    ...(restarted === undefined ? {} : { restarted }),
  }
}

async function expectContainer(engine: Engine, { daemon }: Restart, signal: AbortSignal): Promise<void> {
  const { name, container = '' } = daemon
  if ((await engine.inspect(container, signal)) !== undefined) return
  throw southboundUnavailable(
    `the engine has no container ${container}, which is named for ${name}; nothing was changed`,
  )
}

/** The name of the copy to go back to; undefined when there is nothing to go back to. */
async function fallbackOf(
  plan: ConfigSetPlan,
  backups: Backups,
  { nowMs }: Clock,
): Promise<string | undefined> {
  const { manifest, found } = plan.state
  const known = manifest.applied?.backup ?? manifest.pending?.fallback
  const isKnown = known !== undefined && (await backups.read(known)) !== undefined
  const isUntouched = appliedFiles(plan) !== undefined
  // Whatever somebody else has put there is kept, too, before it is replaced.
  const hasOthers = manifest.pending === undefined && !isUntouched && found.size > 0
  const kept = hasOthers || (!isKnown && isUntouched) ? await backups.keep(found, nowMs()) : undefined
  return isKnown ? known : kept?.name
}

/** Puts the files in place; writes down before what is about to happen, and gives that. */
async function write(
  { dir, files }: ApplyOptions,
  plan: ConfigSetPlan,
  fallback: string | undefined,
  signal: AbortSignal,
): Promise<Manifest> {
  const { manifest } = plan.state
  const touched = plan.files.filter(({ change }) => change !== 'same')
  await removeLeftovers(dir, files.keys())
  const staged = await stageFiles(dir, new Map(touched.map(({ path, after }) => [path, after])))
  try {
    signal.throwIfAborted()
    const begun: Manifest = { ...manifest, pending: pendingOf(plan, files, fallback), refused: undefined }
    await writeManifest(dir, begun)
    await staged.commit()
    return begun
  } finally {
    await staged.abandon()
  }
}

function pendingOf(
  { state }: ConfigSetPlan,
  files: ReadonlyMap<string, string>,
  fallback: string | undefined,
): Manifest['pending'] {
  const { pending } = state.manifest
  const daemons = state.restarts.map(({ daemon }) => daemon.name)
  return {
    daemons: [...new Set([...(pending?.daemons ?? []), ...daemons])],
    files: [...new Set([...(pending?.files ?? []), ...files.keys()])],
    fallback,
  }
}

/** Writes down that the core is well with the set. */
async function finish(options: ApplyOptions, plan: ConfigSetPlan, backup: string): Promise<void> {
  const { dir, files, daemons, clock } = options
  const at = new Date(clock.nowMs()).toISOString()
  const { sha256 } = renderedOf(files)
  const known = plan.state.manifest.files
  const entries = [...files].map(([path, content]): [string, AppliedFile] => {
    const hash = sha256Of(content)
    const before = known[path]
    const daemon = daemons.find((one) => one.files.includes(path))?.name ?? ''
    return [
      path,
      before?.sha256 === hash && before.daemon === daemon ? before : { sha256: hash, daemon, applied_at: at },
    ]
  })
  await writeManifest(dir, {
    version: 1,
    applied: { sha256, at, backup },
    files: Object.fromEntries(entries),
    pending: undefined,
    refused: undefined,
  })
}

/** Puts the last good files back and restarts those that may run with others. Says how it went. */
async function rollBack(
  options: ApplyOptions,
  begun: Manifest,
  restarts: readonly Restart[],
  backups: Backups,
  signal: AbortSignal,
): Promise<string> {
  const fallback = begun.pending?.fallback
  const good = fallback === undefined ? undefined : await backups.read(fallback)
  if (good === undefined || good.size === 0)
    return 'There are no earlier files to go back to: the refused ones stay'
  const touched = new Set([...(begun.pending?.files ?? []), ...good.keys()])
  const staged = await stageFiles(options.dir, new Map([...touched].map((path) => [path, good.get(path)])))
  await staged.commit()
  // One that had no files before cannot run with them.
  const returning = restarts.filter(({ daemon }) => daemon.files.some((path) => good.has(path)))
  const { unwell } = await restartAll(returning, partsOf(options), signal)
  await writeManifest(options.dir, {
    ...begun,
    pending: begun.applied === undefined ? begun.pending : undefined,
  })
  if (unwell === undefined) return 'The last good files are back, and the core is well with them'
  return `The last good files are back, but ${unwell.restart.daemon.name} does not get well with them either: ${unwell.words}`
}

/** Writes down that this set is not to be tried again. */
async function refuse(options: ApplyOptions, words: string): Promise<void> {
  const { manifest } = await readManifest(options.dir)
  const at = new Date(options.clock.nowMs()).toISOString()
  const key = options.key ?? renderedOf(options.files).sha256
  await writeManifest(options.dir, { ...manifest, refused: { key, words, at } })
}
