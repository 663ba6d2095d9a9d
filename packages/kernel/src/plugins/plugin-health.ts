import type { ComponentHealth } from '@steeple/contracts'
import type { LivePlugin } from './live.ts'
import type { FoundPlugin } from './manifest.ts'

/** The health check of a live plugin. One that has none is healthy while it runs. */
export function healthOf(plugin: LivePlugin): () => Promise<readonly ComponentHealth[]> {
  const { id, kind, essential = false } = plugin.found.manifest
  return async () =>
    (await plugin.instance.health?.()) ?? [
      { name: id, kind, status: 'ok', detail: 'running', required: essential },
    ]
}

/** What the board says of a plugin that is not running because it failed. The reason is in its record and the log. */
export function failedHealth(found: FoundPlugin): readonly ComponentHealth[] {
  const { id, kind, essential = false } = found.manifest
  return [{ name: id, kind, status: 'down', detail: 'it failed to load', required: essential }]
}
