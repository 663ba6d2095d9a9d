import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DISARM_NOTE } from '@steeple/contracts'

/**
 * Writes a disarm of whatever is armed where the guard of the radio and the next start read it, in place, and only where the
 * service has made it. Gives the file; undefined where there is none. Throws what the file system throws.
 */
export async function writeDisarmNote(dataDir: string, by: string): Promise<string | undefined> {
  const path = join(dataDir, DISARM_NOTE.file)
  try {
    await using file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await file.stat()).isFile()) return undefined
    await file.write(JSON.stringify({ intervalId: null, by }).padEnd(DISARM_NOTE.bytes), 0)
    await file.datasync()
    return path
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
