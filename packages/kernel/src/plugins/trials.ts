import { basename } from 'node:path'
import type { Log } from '@steeple/contracts'
import { createKeptMap } from './kept-map.ts'
import type { FoundPlugin } from './manifest.ts'

/** How the loads of installed versions went; plugins of the build are not noted. */
export interface Trials {
  read(): Promise<PastTrials>
  /** Before its code runs: should the service end now, the version counts as failed. */
  begun(found: FoundPlugin): Promise<void>
  ran(found: FoundPlugin): Promise<void>
  failed(found: FoundPlugin, reason: string): Promise<void>
  /** Its folder is gone. */
  forget(dir: string): Promise<void>
}

/** What was noted of an installed version. One that was never tried neither ran nor failed. */
export interface PastTrials {
  hasRun(found: FoundPlugin): boolean
  /** Why its last load failed. */
  failureOf(found: FoundPlugin): string | undefined
}

const RAN = 'ran'
const ENDED = 'the service ended while it was loaded'

/**
 * Trials in `loads.json` of `pluginsDir`, by the names of the folders. What cannot be written is logged: a full disk
 * keeps no plugin from running.
 */
export function createTrials(pluginsDir: string | undefined, log: Log): Trials {
  const kept = createKeptMap(pluginsDir, 'loads.json')
  const note = async (dir: string, text: string | undefined): Promise<void> => {
    try {
      await kept.write(basename(dir), text)
    } catch (error) {
      log.warn({ err: error, dir }, 'outcome of a plugin load could not be noted')
    }
  }
  const noteOf = async (found: FoundPlugin, text: string): Promise<void> => {
    if (found.origin === 'installed') await note(found.dir, text)
  }
  return {
    read: async () => {
      const past = await kept.read()
      const of = ({ origin, dir }: FoundPlugin): string | undefined =>
        origin === 'installed' ? past.get(basename(dir)) : undefined
      return {
        hasRun: (found) => of(found) === RAN,
        failureOf: (found) => (of(found) === RAN ? undefined : of(found)),
      }
    },
    begun: (found) => noteOf(found, ENDED),
    ran: (found) => noteOf(found, RAN),
    failed: noteOf,
    forget: (dir) => note(dir, undefined),
  }
}
