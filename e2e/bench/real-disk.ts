import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from './package-folder.ts'

/**
 * A new folder on the disk of this checkout, since the system's temporary folder may be memory. Remove it after the last
 * round: while ext4 remembers thousands of deleted files nearby (up to five minutes), each new one costs it up to 0.7 ms.
 */
export function realDiskFolder(): string {
  const parent = packageFolder('../bench-results')
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, 'disk-'))
}
