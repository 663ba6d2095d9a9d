import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { storeInvalid } from '@steeple/contracts'

/** Where a state is brought in, and what it is called once that is decided. */
export const STAGING = 'restore-staging'
export const PENDING = 'restore-pending'
/** What comes, in both of them. */
export const COMING = 'new'
export const PLAN = 'restore.json'

/** What a decided restore puts where. Written before it is decided. */
export interface RestorePlan {
  /** Name of the directory that keeps what was before. */
  readonly kept: string
  /** Where the store file belongs; null on PostgreSQL. */
  readonly store_file: string | null
  readonly keys_dir: string
  readonly plugins_dir: string
  readonly has_keys: boolean
}

/** Whether a restore was decided and is not done yet. */
export function isRestorePending(dataDir: string): boolean {
  return existsSync(join(dataDir, PENDING))
}

/** The plan of a decided restore. Throws `store_invalid` when it cannot be read. */
export function readPlan(dataDir: string): RestorePlan {
  const path = join(dataDir, PENDING, PLAN)
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RestorePlan // `commit` wrote it, durable, before the decision
  } catch (cause) {
    throw storeInvalid(`${path} cannot be read; put the old state back by hand, it is beside it`, { cause })
  }
}
