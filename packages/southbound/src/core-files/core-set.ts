import { isAbsolute } from 'node:path'
import type { Context, Rendered } from '@steeple/contracts'
import type { ConfigSet } from '../config-set/config-set.ts'
import type { Daemon } from '../config-set/daemon.ts'
import { sha256Of } from '../config-set/sha256.ts'
import type { CoreFilesParts } from './parts.ts'

/** The configuration set of a core as the settings stand. */
export interface CoreSet extends ConfigSet {
  /** What it is remembered by when the core refuses it: its files, and the containers that they are for. */
  readonly key: string
  /** Where its daemons listen, by role. */
  readonly addresses: Readonly<Record<string, string>>
  /** Why it cannot be applied: no directory is configured. */
  readonly obstacle: string | undefined
}

/** A rendered set with its directory and containers. */
export function coreSetOf({ settings }: Context, parts: CoreFilesParts, rendered: Rendered): CoreSet {
  const { configDir, containers, addresses } = parts.place(settings)
  const daemons = parts
    .daemons(rendered)
    .map((daemon): Daemon => ({ ...daemon, container: containers[daemon.name] }))
  return {
    dir: configDir,
    addresses,
    files: rendered.files,
    daemons,
    key: sha256Of(JSON.stringify([rendered.sha256, daemons.map(({ name, container }) => [name, container])])),
    obstacle: obstacleOf(parts.core, configDir),
  }
}

function obstacleOf(core: string, configDir: string): string | undefined {
  if (configDir === '')
    return `${core}.config_dir is empty: name the directory that the containers of the core read their files from`
  return isAbsolute(configDir) ? undefined : `${core}.config_dir must be an absolute path, not ${configDir}`
}
