import { join } from 'node:path'
import {
  type ComparedFile,
  type Context,
  type CoreComparison,
  type CoreLine,
  type Rendered,
  type Settings,
  southboundUnavailable,
  validationFailed,
} from '@steeple/contracts'
import { copiesIn } from '../config-set/copies.ts'
import { renderedOf, sha256Of } from '../config-set/files.ts'
import type { AppliedFile, Manifest } from '../config-set/manifest.ts'
import { heldFiles, planConfigSet } from '../config-set/plan.ts'
import { readFiles } from '../config-set/read-set.ts'
import { writeManifest } from '../config-set/write-set.ts'
import type { Engine } from '../engine/engine.ts'
import { compared, isYaml, type Overlay, withOurs } from '../overlay/overlay.ts'
import { type Overlays, withOverlays, writeOverlays } from '../overlay/overlay-files.ts'
import { copyPlaceOf, errorWords, makePlan } from './core-plan.ts'
import { type CoreFilesParts, type CoreSet, coreSetOf } from './core-set.ts'

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
