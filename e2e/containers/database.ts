import { once } from 'node:events'
import { EJSON } from 'bson'
import { type Collection, MongoClient } from 'mongodb'
import { CLIENT, startJava } from '../harness/hss/mongo.ts'

/** Where a core's own database listens, as mongosh in its container expects it. */
const PORT = 27_017

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
  const { child } = await startJava(PORT)
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
      const gone = once(child, 'close')
      child.stdin?.end()
      await gone
    },
  }
}
