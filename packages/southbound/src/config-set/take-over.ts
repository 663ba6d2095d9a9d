import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, notFound, southboundUnavailable, validationFailed } from '@steeple/contracts'
import { dropOverlays } from '../overlay/overlay-files.ts'
import { type CopyPlace, copiesIn } from './copies.ts'
import type { ConfigSet } from './daemon.ts'
import { MANIFEST_NAME, type Manifest, NO_MANIFEST, ownPaths } from './manifest.ts'
import { heldFiles, othersIn, planConfigSet } from './plan.ts'
import { readFiles, readManifest } from './read-set.ts'
import { stageFiles, writeManifest } from './write-set.ts'

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
interface Restored {
  /** The name of the copy. */
  readonly copy: string
  /** Paths that were written or removed. */
  readonly changed: readonly string[]
}

/** What `restoreOriginal` would write or remove. Throws as it does; changes nothing. */
export async function planRestore(set: KeptSet, named: string | undefined): Promise<Restored> {
  const { copy, after, found } = await lookForCopy(set, named)
  return { copy, changed: [...changedIn(after, found).keys()].toSorted() }
}

/** The copy, the files that are there, and what they become: undefined for one that goes. */
interface CopyFound {
  readonly copy: string
  readonly files: ReadonlyMap<string, string>
  readonly found: ReadonlyMap<string, string>
  readonly after: ReadonlyMap<string, string | undefined>
  readonly manifest: Manifest
}

async function lookForCopy(set: KeptSet, named: string | undefined): Promise<CopyFound> {
  const copies = copiesIn(set)
  const names = await copies.originals()
  const copy = named ?? names[0]
  if (copy === undefined || !names.includes(copy))
    throw notFound(`such copy of files that were not written here (there are: ${names.join(', ') || 'none'})`)
  const files = await copies.read(copy)
  if (files === undefined) throw southboundUnavailable(`the copy ${copy} is damaged; nothing was changed`)
  const { manifest } = await readManifest(set.dir)
  const found = await readFiles(set.dir, new Set([...ownPaths(manifest), ...files.keys()]))
  const after = new Map([...found.keys(), ...files.keys()].map((path) => [path, files.get(path)] as const))
  return { copy, files, found, after, manifest }
}

function changedIn(
  after: CopyFound['after'],
  found: CopyFound['found'],
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
  const { copy, files, found, after, manifest } = await lookForCopy(set, named)
  if ((await othersIn({ manifest, found }, new Map(), copies)).length > 0)
    await copies.keepOriginal(found, set.clock.nowMs())
  const changed = changedIn(after, found)
  const staged = await stageFiles(set.dir, changed)
  try {
    // First: what is put back must never be taken for an edit of ours.
    await writeManifest(set.dir, NO_MANIFEST)
    await staged.commit()
    await dropOverlays(set.dir, files)
    // Nothing of ours is left in there.
    await rm(join(set.dir, MANIFEST_NAME), { force: true })
  } finally {
    await staged.abandon()
  }
  return { copy, changed: [...changed.keys()].toSorted() }
}
