import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { southboundUnavailable } from '@steeple/contracts'

/** Where Linux has a tmpfs: what is written there each 100 ms reaches no disk, and goes when the machine restarts. */
const PLACES = ['/run', '/dev/shm'] as const
const ONLY_OWNER = 0o700
const FORBIDDEN = 0o077
const PREFIX = 'steeple_gtpu_'
/** Says whose folder it is. */
const OWNER_FILE = 'data-dir'
/** The data directory of a service may be on a disk that is away for a while. */
const ABANDONED_MS = 86_400_000

/** A name that two services of one machine do not share. */
export function ownName(dataDir: string): string {
  return `${PREFIX}${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
}

/** A folder on a tmpfs that nobody else can enter; the same one for the same service and driver. */
export function counterFolder(dataDir: string, driver: string, places: readonly string[] = PLACES): string {
  const problems: string[] = []
  for (const place of places) {
    const folder = `${place}/${ownName(dataDir)}_${driver}`
    try {
      mkdirSync(folder, { recursive: true, mode: ONLY_OWNER })
      // In a place that everybody may write to somebody else may have made it.
      if (isOwn(folder)) {
        writeFileSync(`${folder}/${OWNER_FILE}`, dataDir, { mode: 0o600 })
        return folder
      }
      problems.push(`${folder} belongs to somebody else`)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw southboundUnavailable(
    `there is no place in memory for the counters of the tap: ${problems.join('; ')}`,
  )
}

/** Removes folders of services whose data directory is gone, and into which nobody has written for a day; says how many. */
export function sweepCounterFolders(nowMs: number, places: readonly string[] = PLACES): number {
  const folders = places.flatMap((place) => namesIn(place).map((name) => `${place}/${name}`))
  return folders.filter((folder) => isAbandoned(folder, nowMs) && isRemoved(folder)).length
}

function namesIn(place: string): readonly string[] {
  try {
    return readdirSync(place).filter((name) => name.startsWith(PREFIX))
  } catch {
    return []
  }
}

function isAbandoned(folder: string, nowMs: number): boolean {
  try {
    if (!isOwn(folder)) return false
    const files = readdirSync(folder)
    const writtenMs = Math.max(...files.map((file) => lstatSync(`${folder}/${file}`).mtimeMs))
    if (nowMs - writtenMs < ABANDONED_MS) return false
    // One without is of a version that did not say whose it is.
    return files.includes(OWNER_FILE) && !existsSync(readFileSync(`${folder}/${OWNER_FILE}`, 'utf8'))
  } catch {
    return false
  }
}

function isRemoved(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true })
    return true
  } catch {
    return false
  }
}

function isOwn(folder: string): boolean {
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & FORBIDDEN) === 0
}
