import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { southboundUnavailable } from '@steeple/contracts'

/** Where Linux has a tmpfs: what is written there each 100 ms reaches no disk, and goes when the machine restarts. */
const PLACES = ['/run', '/dev/shm'] as const
const ONLY_OWNER = 0o700
const FORBIDDEN = 0o077

/** A name that two services of one machine do not share. */
export function ownName(dataDir: string): string {
  return `steeple_gtpu_${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
}

/** A folder on a tmpfs that nobody else can enter; the same one for the same service. */
export function counterFolder(name: string): string {
  const problems: string[] = []
  for (const place of PLACES) {
    const folder = `${place}/${name}`
    try {
      mkdirSync(folder, { recursive: true, mode: ONLY_OWNER })
      // In a place that everybody may write to somebody else may have made it.
      const { uid, mode, isDirectory } = statOf(folder)
      if (isDirectory && uid === process.geteuid?.() && (mode & FORBIDDEN) === 0) return folder
      problems.push(`${folder} belongs to somebody else`)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw southboundUnavailable(
    `there is no place in memory for the counters of the tap: ${problems.join('; ')}`,
  )
}

function statOf(folder: string): {
  readonly uid: number
  readonly mode: number
  readonly isDirectory: boolean
} {
  const stat = lstatSync(folder)
  return { uid: stat.uid, mode: stat.mode, isDirectory: stat.isDirectory() }
}
