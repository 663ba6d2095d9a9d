import { MongoClient } from 'mongodb'
import { type DbctlStore, runDbctl } from './stand-in-dbctl.ts'

// The executable that `makeMongoDbctl` starts: the stand-in over the database of --db_uri.
const argv = process.argv.slice(2)
const flag = argv.find((word) => word.startsWith('--db_uri='))
const url = flag?.slice('--db_uri='.length) ?? 'mongodb://localhost/open5gs'
const client = new MongoClient(url)
const subscribers = client.db().collection('subscribers')
const store: DbctlStore = {
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
const { code, output } = await runDbctl(argv, store, false)
process.stdout.write(output)
process.exitCode = code
await client.close()
