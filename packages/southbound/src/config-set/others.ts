import type { Backups } from './backups.ts'
import { ownPaths } from './manifest.ts'
import type { ConfigSetPlan } from './plan.ts'
import { sha256Of } from './sha256.ts'

/** Paths of files in places of ours whose content was not written here: by hand, by a package, by another program. */
export async function othersIn(
  { manifest, found }: Pick<ConfigSetPlan['state'], 'manifest' | 'found'>,
  files: ReadonlyMap<string, string>,
  backups: Backups,
): Promise<readonly string[]> {
  const doubtful = [...found].filter(
    ([path, content]) => manifest.files[path]?.sha256 !== sha256Of(content) && files.get(path) !== content,
  )
  if (doubtful.length === 0) return []
  const own = await backups.ownSets()
  return doubtful
    .filter(([path, content]) => !own.some((set) => set.get(path) === content))
    .map(([path]) => path)
}

/**
 * Of these the ones that an apply has to leave alone until somebody agrees: in places that were never ours. Where a file of
 * ours was edited, the edit is kept and the file put right.
 */
export async function heldFiles(
  plan: ConfigSetPlan,
  files: ReadonlyMap<string, string>,
  backups: Backups,
): Promise<readonly string[]> {
  const { manifest } = plan.state
  const agreed = new Set([...ownPaths(manifest), ...manifest.takenOver])
  const others = await othersIn(plan.state, files, backups)
  return others.filter((path) => !agreed.has(path)).toSorted()
}
