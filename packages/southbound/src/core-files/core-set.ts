import { isAbsolute } from 'node:path'
import type { Context, CoreDesired, ObservedUe, Rendered, Settings, Technology } from '@steeple/contracts'
import type { FileChange } from '../config-set/changes.ts'
import type { ConfigSet, Daemon } from '../config-set/daemon.ts'
import { sha256Of } from '../config-set/files.ts'
import type { Limits, Probe } from '../config-set/verify.ts'
import type { Engine } from '../engine/engine.ts'
import type { FitList } from '../overlay/overlay.ts'

/** Where a core's files and daemons are. Roles are the keys: `mme`, `smf`, … */
interface CorePlace {
  /** Absolute path of the directory; empty when none is configured. */
  readonly configDir: string
  /** Role → container. */
  readonly containers: Readonly<Record<string, string>>
  /** Role → address, as rendered. */
  readonly addresses: Readonly<Record<string, string>>
}

/** What a core must be set to, and where the driver's configuration has its daemons listen, by role. */
export interface PlacedDesired extends CoreDesired {
  readonly addresses: Readonly<Record<string, string>>
}

/** What a core driver brings: its files come rendered. */
export interface CoreFilesParts {
  /** Also the section of the configuration that messages name. */
  readonly core: 'core_a' | 'core_b'
  place(settings: Settings): CorePlace
  /** What these settings ask for, without anything of the operator's own. Throws as `CoreDriver.render` does. */
  rendered(desired: CoreDesired, settings: Settings): Promise<Rendered>
  /** The daemons that a set needs by its paths, in the order of their restarts; their containers come from `place`, by name. */
  daemons(rendered: Rendered): readonly Omit<Daemon, 'container'>[]
  /** Whether a daemon does its work (information API, peers). Without it a container that stays up is well. */
  probe?: Probe
  /** The phones that the core knows now over that technology; for counting only. `at`: where its daemons are, if not where they are set. */
  ues?(technology: Technology, signal: AbortSignal, at?: Settings): Promise<readonly ObservedUe[]>
  /**
   * Whether the last words of a daemon say that it waits for something that is away (its database): no reason to take
   * its files back. The engine starts it again until it is there.
   */
  isOutage?(words: string): boolean
  /**
   * How lists in files of the operator's own follow what is desired; `theirs`: those files, by path. Without it a list that
   * becomes another one is replaced as a whole. May throw `validation_failed`.
   */
  fit?(desired: CoreDesired, settings: Settings, theirs: ReadonlyMap<string, string>): FitList
  /** Why a change of these files must not be applied, and what to do; undefined where it may. */
  refusal?(files: readonly FileChange[], signal: AbortSignal): Promise<string | undefined>
  /** What else people should know of a change of these files: memory that it takes, addresses that move. */
  notes?(settings: Settings, files: readonly FileChange[], signal: AbortSignal): Promise<readonly string[]>
  /** Instead of the engine of `hss.engine_socket`. */
  readonly engine?: Engine
  /** Where the core needs more time than others, or a test less. */
  readonly limits?: Partial<Limits>
}

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
export function coreSetOf(
  { settings }: Pick<Context, 'settings'>,
  parts: CoreFilesParts,
  rendered: Rendered,
): CoreSet {
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
