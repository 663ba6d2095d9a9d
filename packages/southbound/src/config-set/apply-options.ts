import type { Clock } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import type { ConfigSet } from './config-set.ts'
import type { RestartParts } from './restart-set.ts'
import { DEFAULT_LIMITS, type Limits, type Probe } from './verify.ts'

/** A set to apply, and with what. */
export interface ApplyOptions extends ConfigSet {
  readonly engine: Engine
  /** Where copies of good sets are kept; made when it is needed, mode 0700. */
  readonly backupDir: string
  readonly clock: Clock
  /** Asked for each restarted daemon once all of them are up. Without it a container that stays up is well. */
  readonly probe?: Probe | undefined
  readonly limits?: Partial<Limits> | undefined
  /** What the set is remembered by when the core refuses it; the hash of its files when absent. */
  readonly key?: string | undefined
  /** Kept in the manifest beside the set, for the caller; the one that is there stays when absent. No secrets. */
  readonly memo?: string | undefined
  /** Told of each restart, those of a roll-back included. */
  restarted?(daemon: string): void
}

/** What its restarts are made with. */
export function restartPartsOf({ engine, limits, probe, restarted }: ApplyOptions): RestartParts {
  return {
    engine,
    limits: { ...DEFAULT_LIMITS, ...limits },
    probe,
    ...(restarted === undefined ? {} : { restarted }),
  }
}
