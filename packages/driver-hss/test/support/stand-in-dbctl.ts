import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { COMPILED } from './compiled.ts'

// biome-ignore lint/suspicious/noExplicitAny: a stored document of any shape
type Doc = Record<string, any>

/** Where a stand-in keeps its documents. */
export interface DbctlStore {
  insert(doc: Doc): Promise<void>
  /** How many documents it found; changes the first. */
  update(imsi: string, change: (doc: Doc) => void): Promise<number>
  remove(imsi: string): Promise<number>
  list(): Promise<readonly Doc[]>
}

/** What mongosh prints for a value. */
function shown(value: unknown): string {
  return inspect(value, { depth: null, breakLength: 76, maxArrayLength: null, maxStringLength: null })
}

class ObjectId {
  readonly #hex: string
  constructor(hex: string) {
    this.#hex = hex
  }
  [inspect.custom](): string {
    return `ObjectId('${this.#hex}')`
  }
}

const gbps = () => ({
  downlink: { value: 1_000_000_000, unit: 0 },
  uplink: { value: 1_000_000_000, unit: 0 },
})

function session(name: string, ambr: Doc, vulnerability: number): Doc {
  const arp = { priority_level: 8, pre_emption_capability: 1, pre_emption_vulnerability: vulnerability }
  return { name, type: 3, qos: { index: 9, arp }, ambr, pcc_rule: [] }
}

function freshDoc(imsi: string, k: string, opc: string, apn: string): Doc {
  return {
    schema_version: 1,
    imsi,
    msisdn: [],
    imeisv: [],
    mme_host: [],
    mm_realm: [],
    purge_flag: [],
    slice: [{ sst: 1, default_indicator: true, session: [session(apn, gbps(), 2)] }],
    security: { k, op: null, opc, amf: '8000' },
    ambr: gbps(),
    access_restriction_data: 32,
    network_access_mode: 0,
    subscriber_status: 0,
    operator_determined_barring: 0,
    subscribed_rau_tau_timer: 12,
    __v: 0,
  }
}

/** Runs one command as open5gs-dbctl 0.10.3 does, exit codes included; with what mongosh prints. */
export async function runDbctl(
  argv: readonly string[],
  store: DbctlStore,
  hasExtras: boolean,
): Promise<{ readonly code: number; readonly output: string }> {
  let output = ''
  const [command = 'help', imsi = '', ...rest] = argv.filter((word) => !word.startsWith('--db_uri'))
  const say = (text: string): number => {
    output += `${text}\n`
    return 0
  }
  const changed = (count: number): number =>
    say(
      shown({
        acknowledged: true,
        insertedId: null,
        matchedCount: count,
        modifiedCount: count,
        upsertedCount: 0,
      }),
    )
  const commands: Record<string, () => Promise<number>> = {
    add_ue_with_apn: async () => {
      const [k = '', opc = '', apn = ''] = rest
      if (rest.length !== 3) return say('open5gs-dbctl: incorrect number of args') + 1
      await store.insert(freshDoc(imsi, k, opc, apn))
      return say("{\n  acknowledged: true,\n  insertedId: ObjectId('6b00336d94c05ec68f531651')\n}")
    },
    update_apn: async () => {
      const [apn = '', slice = ''] = rest
      const one = { downlink: { value: 1, unit: 3 }, uplink: { value: 1, unit: 3 } }
      return changed(
        await store.update(imsi, (doc) => doc.slice[Number(slice)].session.push(session(apn, one, 1))),
      )
    },
    ambr_speed: async () => {
      const [dl, dlUnit, ul, ulUnit] = rest.map(Number)
      const ambr = () => ({ downlink: { value: dl, unit: dlUnit }, uplink: { value: ul, unit: ulUnit } })
      return changed(
        await store.update(imsi, (doc) => {
          doc.ambr = ambr()
          doc.slice[0].session[0].ambr = ambr()
        }),
      )
    },
    remove: async () => say(shown({ acknowledged: true, deletedCount: await store.remove(imsi) })),
    showpretty: async () => {
      const docs = await store.list()
      const first = docs
        .slice(0, 20)
        .map((doc) => ({ _id: new ObjectId('6b00336d94c05ec68f531651'), ...doc }))
      if (docs.length > 0) say(shown(first))
      return docs.length > 20 ? say('Type "it" for more') : say('')
    },
    help: async () => {
      say('   add_ue_with_apn {imsi key opc apn}: adds a user to the database with a specific apn,')
      say('   remove {imsi}: removes a user from the database\n   reset: WIPES OUT the database')
      if (hasExtras) {
        say('   block {imsi}: bars\n   unblock {imsi}: unbars\n   set_sqn {imsi sqn}: once')
        say('   cancel_location {imsi}: disconnects')
      }
      return 1
    },
    block: async () =>
      changed(
        await store.update(imsi, (doc) => {
          doc.suspended_slice ??= doc.slice
          doc.slice = []
        }),
      ),
    unblock: async () =>
      changed(
        await store.update(imsi, (doc) => {
          doc.slice = doc.suspended_slice ?? doc.slice
          delete doc.suspended_slice
        }),
      ),
    cancel_location: async () =>
      changed(
        await store.update(imsi, (doc) => {
          doc.request_cancel_location = true
        }),
      ),
    set_sqn: async () =>
      changed(
        await store.update(imsi, (doc) => {
          doc.security.sqn ??= Number(rest[0])
        }),
      ),
  }
  const isExtra = ['block', 'unblock', 'set_sqn', 'cancel_location'].includes(command)
  const code = (await (isExtra && !hasExtras ? commands.help : commands[command])?.()) ?? 1
  return { code, output }
}

/** Documents in a file. */
export function fileStore(path: string): DbctlStore {
  const read = (): Doc[] => JSON.parse(readFileSync(path, 'utf8')) as Doc[]
  const write = (docs: readonly Doc[]): void => {
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, JSON.stringify(docs))
    renameSync(draft, path)
  }
  return {
    insert: async (doc) => alone(path, () => write([...read(), doc])),
    update: async (imsi, change) =>
      alone(path, () => {
        const docs = read()
        const doc = docs.find((one) => one.imsi === imsi)
        if (doc === undefined) return 0
        change(doc)
        write(docs)
        return 1
      }),
    remove: async (imsi) =>
      alone(path, () => {
        const docs = read()
        const at = docs.findIndex((one) => one.imsi === imsi)
        if (at < 0) return 0
        write(docs.toSpliced(at, 1))
        return 1
      }),
    list: async () => read(),
  }
}

/** Does what no other run of the tool may do meanwhile: a database changes a document at once. */
function alone<Result>(path: string, work: () => Result): Result {
  const lock = `${path}.lock`
  while (!isTaken(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
  try {
    return work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Whether the lock is ours now. That of a run which was killed counts no more. */
function isTaken(lock: string): boolean {
  const own = `${lock}.${process.pid}`
  try {
    writeFileSync(own, String(process.pid))
    linkSync(own, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!isAlive(lock)) rmSync(lock, { force: true })
    return false
  } finally {
    rmSync(own, { force: true })
  }
}

function isAlive(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return true
  } catch (error) {
    // It went meanwhile, or its run did.
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** A tool runs for each command: what its runs before have compiled is not compiled again, whatever environment it is given. */
const BEGIN = `#!${process.execPath} --no-warnings
require('node:module').enableCompileCache(${JSON.stringify(COMPILED)})`

/** An executable in a folder of its own. */
export interface Executable {
  readonly path: string
  /** The file of its store. */
  readonly store: string
  remove(): Promise<void>
}

/** Makes an executable that keeps its documents in a file, or is the shell script `script`. */
export async function makeDbctl(hasExtras: boolean, script?: string): Promise<Executable> {
  const folder = await mkdtemp(join(tmpdir(), 'steeple-dbctl-'))
  const [path, store] = [join(folder, 'open5gs-dbctl'), join(folder, 'store.json')]
  const code = `${BEGIN}
import(${JSON.stringify(import.meta.url)}).then(async ({ runDbctl, fileStore }) => {
  const { code, output } = await runDbctl(process.argv.slice(2), fileStore(${JSON.stringify(store)}), ${hasExtras})
  process.exitCode = code
  process.stdout.write(output)
})
`
  await writeFile(store, '[]')
  await writeFile(path, script ?? code)
  await chmod(path, 0o755)
  return { path, store, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** As `makeDbctl`, over the database that it is told to use. */
export async function makeMongoDbctl(): Promise<Executable> {
  const file = new URL('run-mongo-dbctl.ts', import.meta.url).href
  return await makeDbctl(false, `${BEGIN}\nimport(${JSON.stringify(file)})\n`)
}
