import { createKeptMap, type KeptMap } from './kept-map.ts'

/**
 * Versions that a rollback chose, or that stayed because a later one failed: the next start does not go forward again
 * by itself. By plugin.
 */
export function createPins(pluginsDir: string | undefined): KeptMap {
  return createKeptMap(pluginsDir, 'pinned.json')
}
