import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const CACHE = join(homedir(), '.cache', 'steeple-test')

/** The folder of one part in the cache; throws and says how to get it when it is missing. */
export function partsFolder(name: string): string {
  const folder = join(CACHE, name)
  if (!existsSync(join(folder, 'ready'))) {
    throw new Error(`${folder} is missing; run packages/driver-hss/scripts/get-test-mongo.sh once`)
  }
  return folder
}
