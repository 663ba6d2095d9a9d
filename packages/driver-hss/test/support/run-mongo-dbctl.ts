import { MongoClient } from 'mongodb'
import { databaseOf, mongoStore } from './mongo-dbctl.ts'
import { runDbctl } from './stand-in-dbctl.ts'

// The executable that `makeMongoDbctl` starts: the stand-in over the database of --db_uri.
const argv = process.argv.slice(2)
const client = new MongoClient(databaseOf(argv))
const { code, output } = await runDbctl(argv, mongoStore(client), false)
process.stdout.write(output)
process.exitCode = code
await client.close()
