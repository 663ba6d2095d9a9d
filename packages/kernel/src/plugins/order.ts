import type { FoundPlugin } from './manifest.ts'

/**
 * Providers before those that require their services; among equals by id. Plugins of a cycle come last, in order of
 * their ids: their check says what is missing.
 */
export function inDependencyOrder(plugins: readonly FoundPlugin[]): readonly FoundPlugin[] {
  const rest = new Map(
    [...plugins]
      .sort((a, b) => a.manifest.id.localeCompare(b.manifest.id))
      .map((found) => [found.manifest.id, found]),
  )
  const ordered: FoundPlugin[] = []
  for (let moved = true; moved; ) {
    moved = false
    for (const [id, found] of rest) {
      const missing = new Set([...rest.values()].filter((other) => other !== found).flatMap(providesOf))
      if ((found.manifest.requires ?? []).some((service) => missing.has(service))) continue
      ordered.push(found)
      rest.delete(id)
      moved = true
    }
  }
  return [...ordered, ...rest.values()]
}

function providesOf(found: FoundPlugin): readonly string[] {
  return found.manifest.provides ?? []
}
