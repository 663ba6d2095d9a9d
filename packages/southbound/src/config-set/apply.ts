import { join } from 'node:path'
import { type Clock, coreConfigRefused, southboundUnavailable } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import { isRestartable } from './changes.ts'
import { type Copies, type CopyPlace, copiesIn } from './copies.ts'
import type { ConfigSet } from './daemon.ts'
import { type Restart, restartsOf } from './daemon.ts'
import { renderedOf, sha256Of } from './files.ts'
import type { AppliedFile, Manifest } from './manifest.ts'
import { appliedFiles, type ConfigSetPlan, othersIn, planConfigSet } from './plan.ts'
import { readManifest } from './read-set.ts'
import { type RestartParts, restartAll } from './restart-set.ts'
import { type Addresses, asked, DEFAULT_LIMITS, type Limits, type Probe } from './verify.ts'
import { removeLeftovers, stageFiles, writeManifest } from './write-set.ts'

interface ApplyResult {
  readonly changed: readonly string[]
  readonly restarted: readonly string[]
  /** Daemons whose files changed, but that nobody restarts: no container is named. */
  readonly unmanaged: readonly string[]
  /** Files of ours that somebody had edited and that are as they were again, and the folder with the edits; undefined when none. */
  readonly undone?: { readonly files: readonly string[]; readonly copy: string } | undefined
}

/**
 * Makes the core run with a configuration set: writes what differs, restarts whom it concerns, sees that they get well.
 * Idempotent, and safe to be killed at any point: the next apply goes on.
 *
 * Throws
 * - `southbound_unavailable`: the directory or the engine cannot be used, a container is missing, or a daemon does not get well with
 *   the set that it was well with before. Nothing was changed, or the next apply takes it up again.
 * - `core_config_refused`: a daemon did not get well with it, or one that is not restarted lost what it needs of another.
 *   The last good files are back and the daemons were restarted with them; the message says which daemon, its own last words, and how the way back went.
 * - the signal's reason.
 */
export async function applyConfigSet(options: ApplyOptions, signal: AbortSignal): Promise<ApplyResult> {
  signal.throwIfAborted()
  const plan = await planConfigSet(options, { engine: options.engine, signal })
  const { manifest } = plan.state
  if (plan.isInSync) {
    await settle(options, manifest)
    return { changed: [], restarted: [], unmanaged: [] }
  }
  const restarts = plan.state.restarts.filter(isRestartable)
  for (const restart of restarts) await expectContainer(options.engine, restart, signal)
  const bystanders = await bystandersOf(options, plan, signal)
  const copies = copiesIn(options)
  const { fallback, undone } = await fallbackOf(plan, options, copies)
  // Before anything is touched: what fails only afterwards would have the core restarted again and again.
  const copy = await copies.keep(options.files, options.clock.nowMs())
  const touched = plan.files.filter(({ change }) => change !== 'same')
  const begun = await begin(options, plan, fallback, signal)
  const parts = { ...restartPartsOf(options, options.addresses ?? {}), bystanders }
  const { restarted, unwell } = await restartAll(plan.state.restarts, parts, signal)
  if (unwell !== undefined) {
    const again = plan.state.restarts.filter(
      (one) => restarted.includes(one) || manifest.pending?.daemons.includes(one.daemon.name) === true,
    )
    const words = await rollBack(options, begun, { restarts: again, bystanders }, copies, signal)
    const { name } = unwell.restart.daemon
    const what = bystanders.includes(unwell.restart)
      ? 'no longer does its work beside the new configuration of others'
      : 'does not get well with its new configuration'
    const why = `${name} ${what}: ${unwell.words}`
    // No set is to blame: it is tried again when its surroundings may be back.
    if (words === LAST_GOOD) throw southboundUnavailable(`${why}. ${words}`)
    await refuse(options, why)
    if (copy.isNew) await copies.drop(copy.name)
    throw coreConfigRefused(`${why}. ${words}`)
  }
  await finish(options, plan, copy.name)
  await copies.prune([copy.name]).catch(() => undefined) // too many copies are no reason to fail
  return {
    changed: touched.map(({ path }) => path),
    restarted: restarted.map(({ daemon }) => daemon.name),
    unmanaged: plan.state.restarts.filter((one) => !isRestartable(one)).map(({ daemon }) => daemon.name),
    undone,
  }
}

/** The daemons that are not restarted and do their work now: a change must not cost them that. One look, all at once. */
async function bystandersOf(
  options: ApplyOptions,
  { state: { restarts, manifest } }: Awaited<ReturnType<typeof planConfigSet>>,
  signal: AbortSignal,
): Promise<readonly Restart[]> {
  const { probe } = restartPartsOf(options, manifest.applied?.addresses)
  if (probe === undefined) return []
  const others = options.daemons.filter(({ name }) => !restarts.some(({ daemon }) => daemon.name === name))
  const looks = others.map(async (daemon) => {
    const problem = await asked(probe, daemon.name, Number.POSITIVE_INFINITY, signal)
    return problem === undefined ? [{ daemon, reason: 'it did its work before' }] : []
  })
  return (await Promise.all(looks)).flat()
}

async function expectContainer(engine: Engine, { daemon }: Restart, signal: AbortSignal): Promise<void> {
  const { name, container = '' } = daemon
  if ((await engine.inspect(container, signal)) !== undefined) return
  throw southboundUnavailable(
    `the engine has no container ${container}, which is named for ${name}; nothing was changed`,
  )
}

/**
 * Those that may run with other files, and whoever restarts after one of them: the way back leaves no more behind than
 * the way there.
 */
function returningOf(
  { daemons }: ApplyOptions,
  restarts: readonly Restart[],
  good: ReadonlyMap<string, string>,
): readonly Restart[] {
  const reasons = new Map(restarts.map(({ daemon, reason }) => [daemon.name, reason]))
  // One that had no files before cannot run with them.
  return restartsOf(daemons, reasons).filter(({ daemon }) => daemon.files.some((path) => good.has(path)))
}

/** There is nothing to go back to that was not tried just now. */
const LAST_GOOD = 'These are the last good files already, so something else is wrong'

/** Puts the last good files back and restarts those that may run with others. Says how it went. */
async function rollBack(
  options: ApplyOptions,
  begun: Manifest,
  { restarts, bystanders }: Readonly<Record<'restarts' | 'bystanders', readonly Restart[]>>,
  copies: Copies,
  signal: AbortSignal,
): Promise<string> {
  const fallback = begun.pending?.fallback
  const good = fallback === undefined ? undefined : await copies.read(fallback)
  if (good === undefined || good.size === 0)
    return 'There are no earlier files to go back to: the refused ones stay'
  if (renderedOf(good).sha256 === renderedOf(options.files).sha256) return LAST_GOOD
  const touched = new Set([...(begun.pending?.files ?? []), ...good.keys()])
  const staged = await stageFiles(options.dir, new Map([...touched].map((path) => [path, good.get(path)])))
  await staged.commit()
  const returning = returningOf(options, restarts, good)
  const parts = { ...restartPartsOf(options, begun.applied?.addresses), bystanders }
  const { unwell } = await restartAll(returning, parts, signal)
  if (unwell === undefined) {
    // What it was found with was never seen well by us: it stays to be looked at.
    const pending = begun.applied === undefined ? begun.pending : undefined
    await writeManifest(options.dir, { ...begun, pending })
    return 'The last good files are back, and the core is well with them'
  }
  return `The last good files are back, but ${unwell.restart.daemon.name} does not get well with them either: ${unwell.words}`
}

/** The name of the copy to go back to; undefined when there is nothing. What others have written is kept first, edits of files of ours too. */
async function fallbackOf(
  plan: ConfigSetPlan,
  { files, clock: { nowMs }, originalsDir }: ApplyOptions,
  copies: Copies,
): Promise<Pick<ApplyResult, 'undone'> & { readonly fallback: string | undefined }> {
  const { manifest, found } = plan.state
  const known = manifest.applied?.backup ?? manifest.pending?.fallback
  const isKnown = known !== undefined && (await copies.read(known)) !== undefined
  const others = await othersIn(plan.state, files, copies)
  const original = others.length === 0 ? undefined : await copies.keepOriginal(found, nowMs())
  const edited = others.filter((path) => manifest.files[path] !== undefined)
  const undone =
    original === undefined || edited.length === 0
      ? undefined
      : { files: edited, copy: join(originalsDir, original.name) }
  if (isKnown) return { fallback: known, undone }
  if (original !== undefined) return { fallback: original.name, undone }
  const fallback = appliedFiles(plan) === undefined ? undefined : (await copies.keep(found, nowMs())).name
  return { fallback, undone }
}

/** Puts the files in place; writes down before what is about to happen, and gives that. */
async function begin(
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
    applied: {
      sha256,
      at,
      backup,
      ...(options.addresses === undefined ? {} : { addresses: options.addresses }),
    },
    files: Object.fromEntries(entries),
    pending: undefined,
    refused: undefined,
    takenOver: [],
  })
}

/** The core runs with the set already: what it refused in between is history. */
async function settle({ dir }: ApplyOptions, manifest: Manifest): Promise<void> {
  if (manifest.applied === undefined || manifest.refused === undefined) return
  await writeManifest(dir, { ...manifest, refused: undefined })
}

/** Writes down that this set is not to be tried again. */
async function refuse(options: ApplyOptions, words: string): Promise<void> {
  const { manifest } = await readManifest(options.dir)
  const at = new Date(options.clock.nowMs()).toISOString()
  const key = options.key ?? renderedOf(options.files).sha256
  await writeManifest(options.dir, { ...manifest, refused: { key, words, at } })
}

/** A set to apply, and with what. */
export interface ApplyOptions extends ConfigSet, CopyPlace {
  readonly engine: Engine
  readonly clock: Clock
  /** Asked for each restarted daemon once all of them are up. Without it a container that stays up is well. */
  readonly probe?: Probe | undefined
  readonly limits?: Partial<Limits> | undefined
  /** What the set is remembered by when the core refuses it; the hash of its files when absent. */
  readonly key?: string | undefined
  /** Where the daemons of the set listen, for the probe; kept in the manifest for the way back. */
  readonly addresses?: Addresses | undefined
  /** Told of each restart, those of a roll-back included. */
  restarted?(daemon: string): void
  /** See `RestartParts.isOutage`. */
  isOutage?(words: string): boolean
}

/**
 * What restarts are made with, for daemons that listen at `addresses`. Where these are not known nobody can be asked, and a
 * container that stays up is well.
 */
function restartPartsOf(
  { engine, limits, probe, restarted, isOutage }: ApplyOptions,
  addresses: Addresses | undefined,
): RestartParts {
  return {
    engine,
    limits: { ...DEFAULT_LIMITS, ...limits },
    probe:
      probe === undefined || addresses === undefined
        ? undefined
        : (daemon, signal) => probe(daemon, signal, addresses),
    ...(restarted === undefined ? {} : { restarted }),
    ...(isOutage === undefined ? {} : { isOutage }),
  }
}
