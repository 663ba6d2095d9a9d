import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { maxUeOf, renderSettings } from './core-plan.ts'
import { daemonsOf, generationsOf } from './roles.ts'

/**
 * What each daemon sets aside for one phone of `global.max.ue` when it starts, bytes, all daemons of a core together.
 * Measured with 40,000: 5 GB.
 */
const BYTES_OF_ONE = 125_000
/** Worth a word above this. */
const NOTED_BYTES = 1_000_000_000

/** What the settings ask of the machine that the core runs on, for the plan. */
export function machineNotes(settings: Settings): readonly string[] {
  const { policy, core_a, server } = settings
  const maxUe = maxUeOf(policy.max_ues)
  const bytes = maxUe * BYTES_OF_ONE
  const memory =
    `global.max.ue is ${maxUe} for policy.max_ues ${policy.max_ues}: the daemons set about ` +
    `${(bytes / 1e9).toFixed(1)} GB of memory aside`
  const rendered = renderSettings(settings)
  const hasUdm = daemonsOf(generationsOf({ ...rendered, addresses: core_a.addresses })).includes('udm')
  const missing = core_a.hnet
    .map(({ id }) => join(server.data_dir, 'keys', `hnet-${id}.key`))
    .filter((path) => hasUdm && !existsSync(path))
  return [
    ...(bytes >= NOTED_BYTES ? [memory] : []),
    ...missing.map(
      (path) => `${path} is missing, so no phone can conceal who it is with it: run svc node init`,
    ),
  ]
}
