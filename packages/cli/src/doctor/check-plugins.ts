import type { Settings } from '@steeple/contracts'
import { createKeptStates, RAN } from '@steeple/kernel'
import { incompleteBuild } from '../composition/plugin-packages.ts'
import { pluginsDirOf } from '../place.ts'
import { broken, type Check, doubtful, healthy } from './check.ts'

/** What the next start goes without: installed versions that failed or ended the service, and what somebody disabled. */
export function checkPlugins(settings: Settings, packages: readonly string[]): readonly Check[] {
  const incomplete = incompleteBuild(packages)
  if (incomplete !== undefined) return [broken('plugins', incomplete, 'the service does not start like this')]
  const dir = pluginsDirOf(settings)
  const states = [...createKeptStates(dir, undefined).all()]
  const failed = states.flatMap(([id, { loads = {} }]) =>
    Object.entries(loads)
      .filter(([, outcome]) => outcome !== RAN)
      .map(([folder, reason]) =>
        doubtful(
          'plugins',
          `${folder} is not loaded: ${reason}`,
          `svc plugin load ${id} tries it again, svc plugin uninstall ${id} takes it out (--offline while the service is down)`,
        ),
      ),
  )
  const off = states.flatMap(([id, { isDisabled }]) => (isDisabled === true ? [id] : []))
  const detail = off.length === 0 ? '' : `; disabled: ${off.join(', ')}`
  return failed.length > 0 ? failed : [healthy('plugins', `no installed one in ${dir} has failed${detail}`)]
}
