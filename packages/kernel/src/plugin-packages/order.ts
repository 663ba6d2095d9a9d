import type { FoundPlugin } from './manifest.ts'

/**
 * Providers before those that require their services; among equals those of the build, which what was installed must not cost
 * anything, then by id. Plugins of a cycle come last: their check says what is missing.
 */
export function inDependencyOrder(plugins: readonly FoundPlugin[]): readonly FoundPlugin[] {
  const rest = new Map(
    [...plugins]
      .sort((a, b) => rankOf(a) - rankOf(b) || byLetters(a.manifest.id, b.manifest.id))
      .map((found) => [found.manifest.id, found]),
  )
  const ordered: FoundPlugin[] = []
  const isReady = (found: FoundPlugin): boolean => {
    const missing = new Set([...rest.values()].filter((other) => other !== found).flatMap(providesOf))
    return !(found.manifest.requires ?? []).some((service) => missing.has(service))
  }
  // Each time the first that may come: one of the build that had to wait comes before what was installed.
  for (
    let next = [...rest.values()].find(isReady);
    next !== undefined;
    next = [...rest.values()].find(isReady)
  ) {
    ordered.push(next)
    rest.delete(next.manifest.id)
  }
  return [...ordered, ...rest.values()]
}

function rankOf({ origin }: FoundPlugin): number {
  return origin === 'bundled' ? 0 : 1
}

function providesOf(found: FoundPlugin): readonly string[] {
  return found.manifest.provides ?? []
}

/** Ids are lower-case ASCII: to ask for the rules of a language, as `localeCompare` does, costs a start 5 ms. */
function byLetters(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
