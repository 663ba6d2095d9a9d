import { MongoClient } from 'mongodb'
import { makeAnsweredDbctl } from './answered-dbctl.ts'
import { type DbctlStore, type Executable, runDbctl } from './stand-in-dbctl.ts'

const FLAG = '--db_uri='

/** The stand-in's store over a database. */
export function mongoStore(client: MongoClient): DbctlStore {
  const subscribers = client.db().collection('subscribers')
  return {
    insert: async (doc) => void (await subscribers.insertOne(doc)),
    update: async (imsi, change) => {
      const doc = await subscribers.findOne({ imsi }, { promoteLongs: false })
      if (doc === null) return 0
      change(doc)
      await subscribers.replaceOne({ imsi }, doc)
      return 1
    },
    remove: async (imsi) => (await subscribers.deleteOne({ imsi })).deletedCount,
    list: async () => await subscribers.find({}, { projection: { _id: 0 } }).toArray(),
  }
}

/** The database that a command line names. */
export function databaseOf(argv: readonly string[]): string {
  return argv.find((word) => word.startsWith(FLAG))?.slice(FLAG.length) ?? 'mongodb://localhost/open5gs'
}

/** The stock tool over the database that it is told to use; this process has the connections. */
export async function makeConnectedDbctl(): Promise<Executable> {
  const clients = new Map<string, MongoClient>()
  const clientOf = (url: string): MongoClient => {
    const client = clients.get(url) ?? new MongoClient(url)
    clients.set(url, client)
    return client
  }
  const tool = await makeAnsweredDbctl((argv) =>
    runDbctl(argv, mongoStore(clientOf(databaseOf(argv))), false),
  )
  return {
    ...tool,
    remove: async () => {
      await tool.remove()
      for (const client of clients.values()) await client.close()
    },
  }
}
