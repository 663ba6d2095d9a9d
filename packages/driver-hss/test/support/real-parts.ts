import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const CACHE = join(homedir(), '.cache', 'steeple-test')
const SERVER = 'mongo-java-server-1.47.0'
const SHELL = 'mongosh-2.12.0'
/** What is there once all of a part is. */
const LAST = { [SERVER]: 'classes/TestMongo.class', [SHELL]: 'ready' } as const

/** The folder of one part in the cache; throws and says how to get it when it is missing. */
export function partsFolder(name: typeof SERVER | typeof SHELL): string {
  const folder = join(CACHE, name)
  if (!existsSync(join(folder, LAST[name]))) {
    throw new Error(`${folder} is missing; run packages/driver-hss/scripts/get-test-mongo.sh once`)
  }
  return folder
}

/** Ends the file of tests with a word of what it needs, when a part is missing. In CI that is a failure. */
export function needRealParts(): void {
  try {
    for (const name of [SERVER, SHELL] as const) partsFolder(name)
  } catch (error) {
    if (process.env.CI === 'true') throw error
    process.stdout.write('needs the parts of packages/driver-hss/scripts/get-test-mongo.sh\n')
    process.exit(0)
  }
}
