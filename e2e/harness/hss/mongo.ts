import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { unusedPort } from '@steeple/testkit'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { runsWith } from '../compatibility/runs.ts'

const CACHE = join(homedir(), '.cache', 'steeple-test')
const LIBRARY = join(CACHE, 'mongo-java-server-1.47.0')
/** The shell of the database, as `get-test-mongo.sh` has put it into the cache. */
const MONGOSH: string = join(CACHE, 'mongosh-2.12.0', 'node_modules/.bin/mongosh')
/** Integers as stored, and no surprises when the server is away. */
export const CLIENT = { promoteValues: false, promoteLongs: false, serverSelectionTimeoutMS: 5_000 } as const

/** What is missing to run a MongoDB-compatible server and its shell here; undefined when all is there. */
export function missingMongo(): string | undefined {
  const isThere = existsSync(join(LIBRARY, 'classes/TestMongo.class')) && existsSync(MONGOSH)
  return isThere ? undefined : 'packages/driver-hss/scripts/get-test-mongo.sh'
}

/** Ends a file of tests with a word of what it needs; in CI that is an error. */
export function needMongo(): void {
  const missing = missingMongo()
  if (missing === undefined) return
  if (process.env.CI === 'true') throw new Error(`needs ${missing}`)
  process.stdout.write(`needs ${missing}\n`)
  process.exit(0)
}

/** A MongoDB-compatible server on a loopback port of its own, which it keeps over restarts, and a look into it. */
export interface Mongo {
  readonly port: number
  readonly url: string
  /** The subscribers of Open5GS, past the product. */
  readonly subscribers: Collection<Document>
  /** How many subscribers match. */
  count(filter?: Document): Promise<number>
  /** Removes every document of either core. */
  clear(): Promise<void>
  /** Stands still: connections are taken and never answered. */
  freeze(): void
  thaw(): void
  /** Ends it without a goodbye and starts another, whose store is empty. */
  killAndStart(): Promise<void>
  close(): Promise<void>
}

export async function startMongo(): Promise<Mongo> {
  let running = await startJava(await unusedPort())
  const { port } = running
  const url = `mongodb://127.0.0.1:${port}`
  const client = new MongoClient(url, CLIENT)
  const subscribers = client.db('open5gs').collection('subscribers')
  const kill = async (): Promise<void> => {
    const gone = once(running.child, 'exit')
    running.child.kill('SIGKILL')
    await gone
  }
  return {
    port,
    url,
    subscribers,
    // Numbers come as stored: an Int32.
    count: async (filter = {}) => Number(await subscribers.countDocuments(filter)),
    clear: async () => {
      for (const name of ['open5gs', 'free5gc']) await client.db(name).dropDatabase()
    },
    freeze: () => void running.child.kill('SIGSTOP'),
    thaw: () => void running.child.kill('SIGCONT'),
    killAndStart: async () => {
      await kill()
      running = await startJava(port)
    },
    close: async () => {
      await client.close()
      await kill()
    },
  }
}

/** Starts the server at that port. It ends with its standard input. */
export async function startJava(
  port: number,
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  runsWith('mongo-java-server', 'basename', LIBRARY)
  // It lives for a minute: the second compiler would cost more than its programs save. Without files of its own in /tmp: their
  // names are process ids, which are the same in each machine of a test.
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto', '-XX:-UsePerfData']
  const programs = ['-cp', `${LIBRARY}/classes:${LIBRARY}/lib/*`, 'TestMongo']
  const child = spawn('java', [...flags, ...programs, String(port)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints = (complaints + chunk).slice(-4_000)
  })
  const gone = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line'), gone.then(() => undefined)])
  const found = /^port (\d+)$/.exec(String(first?.[0]))?.[1]
  if (found === undefined) throw new Error(`the test database did not start: ${complaints}`)
  return { child, port: Number(found) }
}
