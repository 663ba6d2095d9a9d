import type { Clock } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import type { BackupPlace } from './backups.ts'
import type { ConfigSet } from './config-set.ts'
import type { RestartParts } from './restart-set.ts'
import { type Addresses, DEFAULT_LIMITS, type Limits, type Probe } from './verify.ts'

/** A set to apply, and with what. */
export interface ApplyOptions extends ConfigSet, BackupPlace {
  readonly engine: Engine
  readonly clock: Clock
  /** Asked for each restarted daemon once all of them are up. Without it a container that stays up is well. */
  readonly probe?: Probe | undefined
  readonly limits?: Partial<Limits> | undefined
  /** What the set is remembered by when the core refuses it; the hash of its files when absent. */
  readonly key?: string | undefined
  /** Where the daemons of the set listen, for the probe; kept in the manifest for the way back. */
  readonly addresses?: Addresses | undefined
  /** Told of each restart, those of a roll-back included. */
  restarted?(daemon: string): void
  /** See `RestartParts.isOutage`. */
  isOutage?(words: string): boolean
}

/**
 * What restarts are made with, for daemons that listen at `addresses`. Where these are not known nobody can be asked, and a
 * container that stays up is well.
 */
export function restartPartsOf(
  { engine, limits, probe, restarted, isOutage }: ApplyOptions,
  addresses: Addresses | undefined,
): RestartParts {
  return {
    engine,
    limits: { ...DEFAULT_LIMITS, ...limits },
    probe:
      probe === undefined || addresses === undefined
        ? undefined
        : (daemon, signal) => probe(daemon, signal, addresses),
    ...(restarted === undefined ? {} : { restarted }),
    ...(isOutage === undefined ? {} : { isOutage }),
  }
}
