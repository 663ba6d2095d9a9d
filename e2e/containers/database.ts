import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EJSON } from 'bson'
import { type Collection, MongoClient } from 'mongodb'
import { PARTS } from './own-machine.ts'

/** Where a core's own database listens, as mongosh in its container expects it. */
const PORT = 27_017
/** Integers as stored, and no surprises when the server is away. */
const CLIENT = { promoteValues: false, promoteLongs: false, serverSelectionTimeoutMS: 5_000 } as const

/** A MongoDB-compatible server on the loopback of the test, and a look into it past the product. */
export interface TestDatabase {
  collection(database: string, name: string): Collection
  /** Every document of every collection as canonical EJSON, sorted; without `_id`, which is drawn. */
  world(database: string): Promise<readonly string[]>
  clear(database: string): Promise<void>
  /** Stops and continues the process: connections hang as with a machine that is overloaded. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

/** Starts the server that `get-test-mongo.sh` put into the cache. It keeps its documents in memory. */
export async function startDatabase(): Promise<TestDatabase> {
  // Without files of its own in /tmp: their names are process ids, which are the same in each machine of a test.
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto', '-XX:-UsePerfData']
  const programs = ['-cp', `${PARTS.server}/classes:${PARTS.server}/lib/*`, 'TestMongo']
  const child = spawn('java', [...flags, ...programs, String(PORT)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints = (complaints + chunk).slice(-4_000)
  })
  const gone = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line'), gone.then(() => undefined)])
  if (first?.[0] !== `port ${PORT}`) throw new Error(`the test database did not start: ${complaints}`)
  const client = new MongoClient(`mongodb://127.0.0.1:${PORT}`, CLIENT)
  const names = async (database: string): Promise<readonly string[]> => {
    const listed = await client.db(database).listCollections({}, { promoteValues: true }).toArray()
    return listed.map(({ name }) => name)
  }
  return {
    collection: (database, name) => client.db(database).collection(name),
    world: async (database) => {
      const found: string[] = []
      for (const name of await names(database)) {
        for (const { _id, ...doc } of await client.db(database).collection(name).find().toArray()) {
          found.push(`${name} ${EJSON.stringify(doc, { relaxed: false })}`)
        }
      }
      return found.sort()
    },
    clear: async (database) => {
      for (const name of await names(database)) await client.db(database).collection(name).deleteMany({})
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    close: async () => {
      await client.close()
      child.kill('SIGCONT')
      child.stdin.end()
      await gone
    },
  }
}
