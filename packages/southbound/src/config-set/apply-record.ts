import type { Clock } from '@steeple/contracts'
import type { ApplyOptions } from './apply-options.ts'
import type { Backups } from './backups.ts'
import type { AppliedFile, Manifest } from './manifest.ts'
import { othersIn } from './others.ts'
import { appliedFiles, type ConfigSetPlan } from './plan.ts'
import { readManifest } from './read-set.ts'
import { renderedOf, sha256Of } from './sha256.ts'
import { removeLeftovers, stageFiles, writeManifest } from './write-set.ts'

/** The name of the copy to go back to; undefined when there is nothing to go back to. What others have written is kept first. */
export async function fallbackOf(
  plan: ConfigSetPlan,
  files: ReadonlyMap<string, string>,
  backups: Backups,
  { nowMs }: Clock,
): Promise<string | undefined> {
  const { manifest, found } = plan.state
  const known = manifest.applied?.backup ?? manifest.pending?.fallback
  const isKnown = known !== undefined && (await backups.read(known)) !== undefined
  const others = await othersIn(plan.state, files, backups)
  const original = others.length === 0 ? undefined : await backups.keepOriginal(found, nowMs())
  if (isKnown) return known
  if (original !== undefined) return original.name
  return appliedFiles(plan) === undefined ? undefined : (await backups.keep(found, nowMs())).name
}

/** Puts the files in place; writes down before what is about to happen, and gives that. */
export async function begin(
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
export async function finish(options: ApplyOptions, plan: ConfigSetPlan, backup: string): Promise<void> {
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
export async function settle({ dir }: ApplyOptions, manifest: Manifest): Promise<void> {
  if (manifest.applied === undefined || manifest.refused === undefined) return
  await writeManifest(dir, { ...manifest, refused: undefined })
}

/** Writes down that this set is not to be tried again. */
export async function refuse(options: ApplyOptions, words: string): Promise<void> {
  const { manifest } = await readManifest(options.dir)
  const at = new Date(options.clock.nowMs()).toISOString()
  const key = options.key ?? renderedOf(options.files).sha256
  await writeManifest(options.dir, { ...manifest, refused: { key, words, at } })
}
