import type { Imsi } from '@steeple/contracts'
import type { StoredKeys } from '@steeple/testkit'
import { EJSON } from 'bson'
import { type Collection, type Document, MongoClient } from 'mongodb'

/** A look into a database past the driver. */
export interface Look {
  collection(name: string): Collection
  /** Every document of every collection as canonical EJSON, sorted, `_id` left out. */
  world(): Promise<string>
  clear(): Promise<void>
  /** Of the collections. */
  names(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Connects to a database. Numbers come as stored. */
export async function lookInto(url: string): Promise<Look> {
  const client = new MongoClient(url, { promoteValues: false, promoteLongs: false })
  const db = client.db()
  const collections = async () =>
    (await db.listCollections({}, { promoteValues: true }).toArray()).map(({ name }) => name)
  return {
    collection: (name) => db.collection(name),
    world: async () => {
      const lines: string[] = []
      for (const name of await collections()) {
        for (const { _id, ...doc } of await db.collection(name).find().toArray()) {
          lines.push(`${name} ${EJSON.stringify(doc, { relaxed: false })}`)
        }
      }
      return lines.sort().join('\n')
    },
    clear: async () => {
      for (const name of await collections()) await db.collection(name).deleteMany({})
    },
    names: collections,
    close: () => client.close(),
  }
}

/** The keys and the SQN in a document of Open5GS. */
export async function open5gsKeys(look: Look, imsi: Imsi): Promise<StoredKeys | undefined> {
  const doc = await look.collection('subscribers').findOne({ imsi })
  return doc === null ? undefined : keysIn(doc.security)
}

/** The keys and the SQN as the section `security` of such a document holds them. */
export function keysIn(security: Document | undefined): StoredKeys {
  return {
    ki: Buffer.from(String(security?.k ?? ''), 'hex'),
    opc: Buffer.from(String(security?.opc ?? ''), 'hex'),
    sqn: BigInt(String(security?.sqn ?? 0)),
  }
}
