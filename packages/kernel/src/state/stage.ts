import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  replaceFileSync,
  type StagedState,
  type StateFacts,
  storeUnavailable,
  syncFolderSync,
} from '@steeple/contracts'
import {
  asFullDisk,
  COMING,
  checkRoom,
  checkStateName,
  isRestorePending,
  PENDING,
  PLAN,
  type RestorePlan,
  STAGING,
  stampOf,
  syncFoldersBelow,
  writeStateFile,
} from '@steeple/store'
import { prepareState } from './prepare-state.ts'
import type { StateParts } from './state-parts.ts'

/** Brings a state in, one at a time. */
export interface Staging {
  begin(): StagedState
}

/** Removes what was not decided: after a kill, and at the end of a service that a restore was under way in. */
export function removeStaging(dataDir: string): void {
  rmSync(join(dataDir, STAGING), { recursive: true, force: true })
}

/** Makes what stages states; what one before left behind is removed. */
export function createStaging(parts: StateParts): Staging {
  const staging = join(parts.dataDir, STAGING)
  removeStaging(parts.dataDir)
  let isBusy = false
  return {
    begin: () => {
      if (isRestorePending(parts.dataDir))
        throw storeUnavailable('a restore was accepted; the service restarts')
      if (isBusy) throw storeUnavailable('another restore is under way; try again when it is over')
      isBusy = true
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(join(staging, COMING), { recursive: true, mode: 0o700 })
      return stagedState(parts, staging, () => {
        isBusy = false
      })
    },
  }
}

function stagedState(parts: StateParts, staging: string, done: () => void): StagedState {
  let checked: StateFacts | undefined
  let isOver = false
  const coming = join(staging, COMING)
  return {
    room: (bytes) => checkRoom(parts.dataDir, bytes, 'the restore'),
    add: async (name, size, chunks) => {
      checkStateName(name)
      await checkRoom(parts.dataDir, size, 'the restore')
      await writeStateFile(join(coming, name), chunks).catch((error: unknown) => {
        throw asFullDisk(error)
      })
    },
    check: async (facts, order) => {
      const findings = await prepareState(parts, coming, facts, order)
      checked = facts
      return findings
    },
    commit: async () => {
      if (checked === undefined || isOver)
        throw new Error('a state is checked before it is decided, and decided once')
      const kept = decideOrSay(parts, staging, checked.hasKeys)
      isOver = true
      parts.restart()
      return kept
    },
    discard: async () => {
      if (isOver) return
      isOver = true
      await rm(staging, { recursive: true, force: true })
      done()
    },
  }
}

function decideOrSay(parts: StatePaths, staging: string, hasKeys: boolean): string {
  try {
    return decide(parts, staging, hasKeys)
  } catch (error) {
    throw asFullDisk(error)
  }
}

/** What says where a state belongs. */
type StatePaths = Pick<StateParts, 'dataDir' | 'clock' | 'storeFile' | 'keysDir' | 'pluginsDir'>

/** Decides for what is staged: all of it on the disk first; the name of the folder is the decision. Gives where what was is kept. */
export function decide(parts: StatePaths, staging: string, hasKeys: boolean): string {
  const { dataDir } = parts
  const plan: RestorePlan = {
    kept: keptName(parts),
    store_file: parts.storeFile ?? null,
    keys_dir: parts.keysDir,
    plugins_dir: parts.pluginsDir,
    has_keys: hasKeys,
  }
  replaceFileSync(join(staging, PLAN), `${JSON.stringify(plan, undefined, 2)}\n`)
  syncFoldersBelow(staging)
  renameSync(staging, join(dataDir, PENDING))
  syncFolderSync(dataDir)
  return join(dataDir, plan.kept)
}

function keptName({ dataDir, clock }: StatePaths): string {
  const stamp = stampOf(clock.nowMs())
  for (let again = 0; ; again++) {
    const name = `restore-${stamp}${again === 0 ? '' : `-${again}`}`
    if (!existsSync(join(dataDir, name))) return name
  }
}
