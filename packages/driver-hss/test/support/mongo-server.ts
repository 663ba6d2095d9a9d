import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { needRealParts, partsFolder } from './real-parts.ts'

export interface MongoServer {
  readonly port: number
  url(database: string): string
  stop(): Promise<void>
  /** Ends it without a goodbye. */
  kill(): Promise<void>
}

/** Starts the server that `scripts/get-test-mongo.sh` put into the cache. `port` 0 takes a free one. */
export async function startMongo(port = 0): Promise<MongoServer> {
  const folder = partsFolder('mongo-java-server-1.47.0')
  // It lives for seconds: the second compiler would cost more than its programs save.
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']
  const programs = `${folder}/classes:${folder}/lib/*`
  const child = spawn('java', [...flags, '-cp', programs, 'TestMongo', String(port)], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const gone = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line'), gone.then(() => undefined)])
  const found = /^port (\d+)$/.exec(String(first?.[0]))?.[1]
  // A run that forgets it ends all the same: the server ends with its standard input.
  child.unref()
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref()
  if (found === undefined) throw new Error('the test database did not start')
  return {
    port: Number(found),
    url: (database) => `mongodb://127.0.0.1:${found}/${database}`,
    stop: async () => {
      child.stdin.end()
      await gone
    },
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}

let shared: Promise<MongoServer> | undefined

/** One server for all tests of a process; it ends with it. Without the parts, the file of tests ends here. */
export async function sharedMongo(): Promise<MongoServer> {
  needRealParts()
  shared ??= startMongo()
  return await shared
}
