import type { ComponentHealth } from '@steeple/contracts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'

/** What can be done about an installed plugin that failed. */
export function adviceOn({ origin, dir, version, manifest: { id } }: FoundPlugin): readonly string[] {
  if (origin === 'bundled') return []
  return [
    `its folder is ${dir}`,
    `svc plugin uninstall ${id} ${version} removes it, svc plugin load ${id} tries it again`,
  ]
}

/** What the board says of a plugin that is not running because it failed. The reason is in its record and the log. */
export function failedHealth(found: FoundPlugin, detail: string): readonly ComponentHealth[] {
  const { id, kind, essential = false } = found.manifest
  return [{ name: id, kind, status: 'down', detail, required: essential }]
}
