import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Clock,
  type ComparedFile,
  type Context,
  type CoreComparison,
  type CoreLine,
  type CoreRestored,
  notFound,
  type Rendered,
  type Settings,
  southboundUnavailable,
  validationFailed,
} from '@steeple/contracts'
import { type CopyPlace, copiesIn } from '../config-set/copies.ts'
import type { ConfigSet } from '../config-set/daemon.ts'
import { renderedOf, sha256Of } from '../config-set/files.ts'
import {
  type AppliedFile,
  MANIFEST_NAME,
  type Manifest,
  NO_MANIFEST,
  ownPaths,
} from '../config-set/manifest.ts'
import { heldFiles, othersIn, planConfigSet } from '../config-set/plan.ts'
import { readFiles, readManifest } from '../config-set/read-set.ts'
import { stageFiles, writeManifest } from '../config-set/write-set.ts'
import type { Engine } from '../engine/engine.ts'
import { compared, isYaml, type Overlay, withOurs } from '../overlay/overlay.ts'
import {
  dropOverlays,
  isOverlay,
  keptOverlays,
  type Overlays,
  overlaysLeft,
  withOverlays,
  writeOverlays,
} from '../overlay/overlay-files.ts'
import { copyPlaceOf, errorWords, makePlan } from './core-plan.ts'
import { type CoreFilesParts, type CoreSet, coreSetOf } from './core-set.ts'

/** A set, and where copies of what it replaces are kept. */
export interface KeptSet extends ConfigSet, CopyPlace {
  readonly clock: Clock
}

/**
 * Writes down that an apply may replace exactly these files of others, and keeps a copy of them for good; gives its name.
 *
 * Throws `validation_failed` when other files than these are in the way, `southbound_unavailable`.
 */
export async function takeOver(set: KeptSet, named: readonly string[]): Promise<string> {
  const copies = copiesIn(set)
  const plan = await planConfigSet(set)
  const held = await heldFiles(plan, set.files, copies)
  if (held.length === 0) throw validationFailed('no file of others is in the way of the configuration')
  if ([...new Set(named)].toSorted().join('\n') !== held.join('\n'))
    throw validationFailed(`the files to be replaced are ${held.join(', ')}: name exactly these`)
  const { found, manifest } = plan.state
  const { name } = await copies.keepOriginal(found, set.clock.nowMs())
  await writeManifest(set.dir, { ...manifest, takenOver: [...manifest.takenOver, ...held] })
  return name
}

/** What a restore has put back. */
type Restored = Required<Omit<CoreRestored, 'restarted' | 'problem'>>

/** What `restoreOriginal` would write or remove. Throws as it does; changes nothing. */
export async function planRestore(set: KeptSet, named: string | undefined): Promise<Restored> {
  const { copy, changed, edits, left } = await lookForCopy(set, named)
  return {
    copy,
    changed: [...changed.keys()].toSorted(),
    edits,
    kept: edits.length === 0 ? undefined : set.originalsDir,
    left,
  }
}

/** The copy, and what putting it back does. */
interface CopyFound extends Pick<Restored, 'copy' | 'edits' | 'left'> {
  /** Files that become others: undefined for one that goes. */
  readonly changed: ReadonlyMap<string, string | undefined>
  /** What has to be kept before that: nobody could make it again. */
  readonly keeping: ReadonlyMap<string, string> | undefined
}

async function lookForCopy(set: KeptSet, named: string | undefined): Promise<CopyFound> {
  const copies = copiesIn(set)
  const names = await copies.originals()
  const copy = named ?? names[0]
  if (copy === undefined || !names.includes(copy))
    throw notFound(`such copy of files that were not written here (there are: ${names.join(', ') || 'none'})`)
  const whole = await copies.read(copy)
  if (whole === undefined) throw southboundUnavailable(`the copy ${copy} is damaged; nothing was changed`)
  // Overlays in it are there to be read.
  const files = new Map([...whole].filter(([path]) => !isOverlay(path)))
  const { manifest } = await readManifest(set.dir)
  const found = await readFiles(set.dir, new Set([...ownPaths(manifest), ...files.keys()]))
  const others = await othersIn({ manifest, found }, new Map(), copies)
  const all = await Promise.all(names.map(async (name) => (await copies.read(name)) ?? new Map()))
  const isOurs = ([path, content]: readonly [string, string]): boolean =>
    !others.includes(path) && all.every((one) => one.get(path) !== content)
  const isNothingOurs = found.size > 0 && ownPaths(manifest).size === 0 && ![...found].some(isOurs)
  const isLeft = isNothingOurs && named === undefined && (await keptOverlays(set.dir)).text === ''
  // Where nothing is of this service any more, the files may be newer than each copy.
  const after = isLeft
    ? found
    : new Map([...found.keys(), ...files.keys()].map((path) => [path, files.get(path)]))
  const changed = changedIn(after, found)
  const { edited, left } = await overlaysLeft(set.dir, all)
  const edits = [...others.filter((path) => changed.has(path)), ...edited.keys()].toSorted()
  const isKeeping = !isLeft && (others.length > 0 || edited.size > 0)
  return { copy, changed, edits, left, keeping: isKeeping ? new Map([...found, ...edited]) : undefined }
}

function changedIn(
  after: ReadonlyMap<string, string | undefined>,
  found: ReadonlyMap<string, string>,
): ReadonlyMap<string, string | undefined> {
  return new Map([...after].filter(([path, content]) => found.get(path) !== content))
}

/**
 * Puts a copy of what others have written back, the oldest when none is named, removes the other files of ours, and forgets
 * that these places were ours: the next apply asks first. What is there now and was not written here is kept, too.
 *
 * Throws `not_found`, `southbound_unavailable`.
 */
export async function restoreOriginal(set: KeptSet, named: string | undefined): Promise<Restored> {
  const copies = copiesIn(set)
  const { copy, changed, edits, left, keeping } = await lookForCopy(set, named)
  const kept = keeping && (await copies.keepOriginal(keeping, set.clock.nowMs())).name
  const staged = await stageFiles(set.dir, changed)
  try {
    // First: what is put back must never be taken for an edit of ours.
    await writeManifest(set.dir, NO_MANIFEST)
    await staged.commit()
    await dropOverlays(set.dir)
    // Nothing of ours is left in there.
    await rm(join(set.dir, MANIFEST_NAME), { force: true })
  } finally {
    await staged.abandon()
  }
  return {
    copy,
    changed: [...changed.keys()].toSorted(),
    edits,
    kept: kept === undefined || edits.length === 0 ? undefined : join(set.originalsDir, kept),
    left,
  }
}

/** What files are compared and taken in with. */
interface AdoptParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
}

/** What becomes of the files that are there, if `rendered` were theirs; nothing is written. Throws as `readFiles` does. */
export async function compareSet(
  rendered: Rendered,
  settings: Settings,
  { parts, engine }: AdoptParts,
  signal: AbortSignal,
): Promise<CoreComparison> {
  // Whatever else is to be driven later, now it is only looked at.
  const looking: Settings = { ...settings, southbound: { ...settings.southbound, driver: 'none' } }
  const setOf = (set: Rendered): CoreSet => coreSetOf({ settings: looking }, parts, set)
  const plain = setOf(rendered)
  if (plain.obstacle !== undefined) throw validationFailed(plain.obstacle)
  const found = await readFiles(plain.dir, rendered.files.keys())
  const overlays = overlaysOf(found, rendered)
  const { ues } = parts
  const asked: CoreFilesParts = {
    ...parts,
    ...(ues && { ues: (technology, bound) => ues(technology, bound, looking) }),
  }
  const plan = (set: Rendered) =>
    makePlan(setOf(set), { context: { settings: looking }, parts: asked, engine }, signal)
  return {
    files: [...overlays.files].map(([path, overlay]) => comparedFile(path, overlay, plain)),
    adopted: await plan(withOverlays(rendered, overlays)),
    replaced: await plan(rendered),
  }
}

function overlaysOf(found: ReadonlyMap<string, string>, { files }: Rendered): Overlays {
  const overlay = (path: string, theirs: string): Overlay => ({ theirs, rendered: files.get(path) ?? '' })
  return {
    files: new Map([...found].map(([path, theirs]) => [path, overlay(path, theirs)])),
    absent: new Set([...files.keys()].filter((path) => isYaml(path) && !found.has(path))),
  }
}

function comparedFile(path: string, { theirs, rendered }: Overlay, { dir, daemons }: CoreSet): ComparedFile {
  const daemon = daemons.find(({ files }) => files.includes(path))?.name
  if (!isYaml(path)) return { path, daemon, differences: [], kept: [] }
  try {
    return { path, daemon, ...compared(theirs, rendered) }
  } catch (error) {
    throw validationFailed(`${join(dir, path)} is no YAML: ${errorWords(error)}`)
  }
}

/**
 * Takes in the files of a set's directory as overlays, but for the lines of `ours`; gives the folder of their copy. What stays as it
 * is counts as applied: the daemons run with it.
 */
export async function adoptSet(
  rendered: Rendered,
  ours: readonly CoreLine[],
  { context, parts }: AdoptParts,
): Promise<string> {
  if (context.settings.southbound.driver === 'none')
    throw validationFailed(
      'southbound.driver is none, so nothing is written; set it to container or systemd first',
    )
  const set = coreSetOf(context, parts, rendered)
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  const place = copyPlaceOf(context, parts.core)
  const copies = copiesIn(place)
  const plan = await planConfigSet(set)
  const { manifest } = plan.state
  const found = new Map([...plan.state.found].filter(([path]) => rendered.files.has(path)))
  const held = await heldFiles(plan, set.files, copies)
  if (found.size === 0) throw validationFailed(`${set.dir} has no file that this core reads`)
  const { files, absent } = overlaysOf(found, rendered)
  const stray = ours.find(({ path }) => !files.has(path))
  if (stray !== undefined) throw validationFailed(`${stray.path}: ${set.dir} has no such file of this core`)
  const overlays = {
    files: new Map([...files].map(([path, overlay]) => [path, oursIn(path, overlay, ours)])),
    absent,
  }
  const after = withOverlays(rendered, overlays)
  const { name } = await copies.keepOriginal(found, context.clock.nowMs())
  await writeOverlays(set.dir, overlays)
  await writeManifest(set.dir, {
    ...adoptedManifest(manifest, { ...set, files: after.files }, found, {
      backup: name,
      at: new Date(context.clock.nowMs()).toISOString(),
    }),
    takenOver: [...manifest.takenOver, ...held],
  })
  return join(place.originalsDir, name)
}

function oursIn(path: string, overlay: Overlay, ours: readonly CoreLine[]): Overlay {
  const keys = ours.filter((line) => line.path === path).map(({ key }) => key)
  if (keys.length === 0) return overlay
  try {
    return { ...overlay, theirs: withOurs(overlay, keys) }
  } catch (error) {
    throw validationFailed(`${path}: ${errorWords(error)}`)
  }
}

/** Files that stay as they are count as applied: whoever reads them runs with them. */
function adoptedManifest(
  manifest: Manifest,
  { files, daemons, addresses }: CoreSet,
  found: ReadonlyMap<string, string>,
  { backup, at }: { readonly backup: string; readonly at: string },
): Manifest {
  const staying = new Map([...files].filter(([path, content]) => found.get(path) === content))
  const entries = [...staying].map(([path, content]): [string, AppliedFile] => [
    path,
    {
      sha256: sha256Of(content),
      daemon: daemons.find((one) => one.files.includes(path))?.name ?? '',
      applied_at: at,
    },
  ])
  return {
    ...manifest,
    applied: { sha256: renderedOf(staying).sha256, at, backup, addresses },
    files: Object.fromEntries(entries),
    pending: undefined,
    refused: undefined,
  }
}
