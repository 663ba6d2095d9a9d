import type { ComponentHealth } from '@steeple/contracts'
import type { HealthPoller } from '../health.ts'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'

/** The component that names installed plugins which run and whose signature is not believed. */
const NAME = 'plugins.trust'

/**
 * Has the health name what runs without the signature of somebody in `plugins.trust`: `ok` what was let in on purpose, `degraded`
 * what no start would load again.
 */
export function reportTrust(
  health: HealthPoller,
  catalogue: Catalogue,
  running: readonly FoundPlugin[],
): void {
  const installed = running.filter(({ origin }) => origin === 'installed')
  const refused = installed.flatMap((found) => {
    const { id } = found.manifest
    const rejected = catalogue.rejected(id, found.version)
    return rejected?.dir === found.dir ? [`${id} ${found.version} (${rejected.reason})`] : []
  })
  const unsigned = installed.filter((found) => isUnsigned(found, catalogue)).map(named)
  if (refused.length + unsigned.length === 0) {
    health.forget(NAME)
    return
  }
  const parts = [
    ...(refused.length === 0 ? [] : [`runs, and the next start would not load it: ${refused.join(', ')}`]),
    ...(unsigned.length === 0
      ? []
      : [`runs without a signature of plugins.trust, let in by --allow-unsigned: ${unsigned.join(', ')}`]),
  ]
  const component: ComponentHealth = {
    name: NAME,
    kind: 'feature',
    status: refused.length === 0 ? 'ok' : 'degraded',
    detail: parts.join('; '),
  }
  health.report(NAME, [component])
}

/** By what lies there now: a key may have become trusted since it was loaded. What is gone is as it was. */
function isUnsigned({ manifest, dir, signedBy }: FoundPlugin, catalogue: Catalogue): boolean {
  const there = catalogue.versions(manifest.id).find((one) => one.dir === dir)
  if (there !== undefined) return there.signedBy === undefined
  return catalogue.installed(manifest.id).every((one) => one.dir !== dir) && signedBy === undefined
}

function named({ manifest, version }: FoundPlugin): string {
  return `${manifest.id} ${version}`
}
