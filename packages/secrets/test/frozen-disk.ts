import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** What changes a disk. */
const CHANGES = [
  'openSync',
  'writeSync',
  'fsyncSync',
  'linkSync',
  'renameSync',
  'rmSync',
  'unlinkSync',
  'mkdirSync',
  'chmodSync',
  'fchmodSync',
] as const

/** Whether `work` ended before its disk froze. */
export interface Freeze {
  readonly isFrozen: boolean
}

/**
 * Runs `work` on a disk that takes `changes` changes and then none, not even to clean up: what it leaves behind is what
 * a kill at that point leaves.
 */
export async function withFrozenDisk(changes: number, work: () => unknown): Promise<Freeze> {
  const target = fs as unknown as Record<string, (...args: unknown[]) => unknown>
  const originals = new Map(CHANGES.map((name) => [name, target[name]!]))
  let left = changes
  for (const [name, original] of originals) {
    target[name] = (...args) => {
      left--
      if (left < 0) throw new Error('the disk is frozen')
      return original(...args)
    }
  }
  syncBuiltinESMExports()
  try {
    await work()
  } catch (error) {
    if (left >= 0) throw error
  } finally {
    for (const [name, original] of originals) target[name] = original
    syncBuiltinESMExports()
  }
  return { isFrozen: left < 0 }
}
