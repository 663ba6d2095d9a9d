import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BEYOND_STOCK, type DbctlStore, runDbctl, subscribersInMemory } from '@steeple/lab-core'
import { type HssFixture, listen } from '@steeple/testkit'
import { EJSON } from 'bson'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import type { WriteBackDriver } from '../../src/driver.ts'
import { keysIn } from './database.ts'
import { subscriber } from './subscribers.ts'

/** An executable in a folder of its own. */
export interface Executable {
  readonly path: string
  remove(): Promise<void>
}

/** The lab core's open5gs-dbctl, and what it works on. */
export interface DbctlTool extends Executable {
  readonly store: DbctlStore
  /** The words of each run. */
  readonly runs: readonly (readonly string[])[]
  /** The documents, numbers as numbers. */
  docs(): Promise<readonly Document[]>
  empty(): Promise<void>
}

/** What a tool can do: what the stock one does, more, and many commands in a run besides. */
export type Skill = 'stock' | 'extras' | 'batch'

const WITHOUT: Readonly<Record<Skill, readonly string[]>> = {
  stock: BEYOND_STOCK,
  extras: ['show', 'batch'],
  batch: [],
}
const FLAG = '--db_uri='
const AS_STORED = { promoteValues: false, promoteLongs: false } as const
const draw = (): string => randomBytes(12).toString('hex')

/** What one run of a tool prints, and its exit code. */
interface Printed {
  readonly output: string
  readonly code: number
}

/** Runs the words of one command, as the tool with that skill does. */
export async function runTool(
  argv: readonly string[],
  skill: Skill,
  subscribers: DbctlStore,
  input = '',
): Promise<Printed> {
  const words = argv.filter((word) => !word.startsWith(FLAG))
  const place = { subscribers, draw, without: WITHOUT[skill] }
  if (words[0] !== 'batch' || skill !== 'batch') return await runDbctl(words, place)
  const answers: string[] = []
  for (const line of input.trim().split('\n'))
    answers.push(`${JSON.stringify((await runDbctl(JSON.parse(line), place)).output)}\n`)
  return { output: answers.join(''), code: 0 }
}

/** Makes an executable over documents in memory. */
export async function makeDbctl(skill: Skill): Promise<DbctlTool> {
  const store = subscribersInMemory()
  const runs: (readonly string[])[] = []
  const tool = await answered((argv, input) => {
    runs.push(argv)
    return runTool(argv, skill, store, input)
  })
  return {
    ...tool,
    store,
    runs,
    docs: async () => store.list().map((doc) => EJSON.deserialize(doc)),
    empty: async () => void (await store.removeAll()),
  }
}

/** What the conformance suite needs of a driver over a tool that works on documents in memory. */
export function dbctlFixture(tool: DbctlTool, driver: WriteBackDriver): HssFixture {
  return {
    driver,
    subscribers: [subscriber(1), subscriber(2)],
    stored: async (imsi) => {
      const doc = (await tool.docs()).find((each) => each.imsi === imsi)
      return doc === undefined ? undefined : keysIn(doc.security)
    },
    // No command of the tool does these; with `documents` the database itself is written.
    cannot: ['fewer APNs', 'MSISDN', 'keys'],
    empty: () => tool.empty(),
    world: async () => JSON.stringify(await tool.docs()),
    close: async () => {
      await driver.close()
      await tool.remove()
    },
  }
}

/** Makes an executable of a shell script. */
export async function makeScript(script: string): Promise<Executable> {
  const folder = await mkdtemp(join(tmpdir(), 'steeple-dbctl-'))
  const path = join(folder, 'open5gs-dbctl')
  await writeFile(path, script)
  await chmod(path, 0o755)
  return { path, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** The stock tool over the database that it is told to use; this process has the connections. */
export async function makeMongoDbctl(): Promise<Executable> {
  const clients = new Map<string, MongoClient>()
  const tool = await answered((argv) => {
    const url =
      argv.find((word) => word.startsWith(FLAG))?.slice(FLAG.length) ?? 'mongodb://localhost/open5gs'
    const client = clients.get(url) ?? new MongoClient(url)
    clients.set(url, client)
    return runTool(argv, 'stock', storeIn(client.db().collection('subscribers')))
  })
  return {
    ...tool,
    remove: async () => {
      await tool.remove()
      for (const client of clients.values()) await client.close()
    },
  }
}

/** Does `work` with a driver over the stock tool. */
export async function withStock(
  work: (driver: WriteBackDriver, tool: DbctlTool) => Promise<void>,
): Promise<void> {
  await withTool(await makeDbctl('stock'), work)
}

/** Does `work` with a driver over a shell script. */
export async function withScript(
  script: string,
  work: (driver: WriteBackDriver, tool: Executable) => Promise<void>,
): Promise<void> {
  await withTool(await makeScript(script), work)
}

async function withTool<Tool extends Executable>(
  tool: Tool,
  work: (driver: WriteBackDriver, tool: Tool) => Promise<void>,
): Promise<void> {
  try {
    await work(dbctlDriver({ path: tool.path, url: '', documents: undefined }), tool)
  } finally {
    await tool.remove()
  }
}

type Stored = NonNullable<Awaited<ReturnType<DbctlStore['find']>>>

function storeIn(collection: Collection): DbctlStore {
  const typed = (doc: Document): Stored => EJSON.serialize(doc, { relaxed: false }) as Stored
  const find = async (imsi: string): Promise<Stored | undefined> => {
    const doc = await collection.findOne({ imsi }, AS_STORED)
    return doc === null ? undefined : typed(doc)
  }
  return {
    find,
    list: async () => (await collection.find({}, AS_STORED).toArray()).map(typed),
    insert: async (_imsi, doc) => {
      const added = collection.insertOne(EJSON.deserialize(doc, { relaxed: false }))
      return await added.then(
        () => 'added' as const,
        (error: { readonly code?: unknown }) => {
          if (error.code === 11_000) return 'exists' as const
          throw error
        },
      )
    },
    update: async (imsi, change) => {
      const doc = await find(imsi)
      if (doc === undefined) return { matched: 0, modified: 0 }
      await collection.replaceOne({ imsi }, EJSON.deserialize(change(doc), { relaxed: false }))
      return { matched: 1, modified: 1 }
    },
    remove: async (imsi) => (await collection.deleteOne({ imsi })).deletedCount,
    removeAll: async () => (await collection.deleteMany({})).deletedCount,
  }
}

/**
 * Makes an executable whose every run is a process, and whose words and standard input are answered by this one: hundreds of runs
 * are hundreds of starts, and that of a shell is a tenth of that of Node.
 */
async function answered(
  answer: (argv: readonly string[], input: string) => Promise<Printed>,
): Promise<Executable> {
  const runs = new Set<Socket>()
  const server = createServer((run) => {
    runs.add(run)
    run.on('close', () => runs.delete(run))
    // A run that was killed reads no more.
    run.on('error', () => run.destroy())
    serve(run, answer)
  })
  const tool = await makeScript(script((await listen(server)).port))
  return {
    path: tool.path,
    remove: async () => {
      for (const run of runs) run.destroy()
      server.close()
      await tool.remove()
    },
  }
}

/** The count of the words, the words and, for a batch, standard input: each ends with a zero. The exit code's line comes back, then the output. */
function script(port: number): string {
  return `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${port}
printf '%s\\0' "$#" "$@" >&3
[[ " $* " == *' batch '* ]] && cat >&3
printf '\\0' >&3
read -r code <&3
cat <&3
exit "$code"
`
}

function serve(run: Socket, answer: (argv: readonly string[], input: string) => Promise<Printed>): void {
  let asked = ''
  run.setEncoding('utf8')
  run.on('data', (text: string) => {
    asked += text
    const [count, ...parts] = asked.split('\0')
    const words = Number(count)
    // Behind the last zero there is nothing.
    if (parts.length < words + 2) return
    const input = parts[words] ?? ''
    void answer(parts.slice(0, words), input).then(
      ({ code, output }) => run.end(`${code}\n${output}`),
      (error: unknown) => run.end(`1\n${error instanceof Error ? error.message : 'it failed'}\n`),
    )
  })
}
