import { PassThrough } from 'node:stream'
import { type Look, southboundUnavailable } from '@steeple/contracts'
import { abortable, dockerAt, engineProblem } from '@steeple/southbound'
import type Docker from 'dockerode'
import type { Collection, MongoClient } from 'mongodb'
import type { HssConfig } from '../config.ts'
import type { DocumentLink, WriteFailure, WriteOp } from './document-link.ts'
import type { ShellHost, ShellListener, ShellProcess } from './shell-link.ts'
import { shellLink } from './shell-link.ts'

/** Depth to which causes are followed; an error can name itself. */
const CAUSES_MAX = 5
/** An error code of the system (`ECONNREFUSED`) or a number of the server. */
const CODE = /^(?:[A-Z][A-Z0-9_]{1,40}|-?[0-9]{1,9})$/

/** The code of an error; undefined when it has none. */
function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

/** Whether the server has answered, and refused: the connection is as good as before. */
function isRefusal(error: unknown): boolean {
  const { errorResponse } = (error ?? {}) as { errorResponse?: unknown } // of a MongoServerError
  return errorResponse !== undefined
}

/**
 * The kind of an error and of what is behind it: `MongoServerSelectionError: MongoNetworkError ECONNREFUSED`. Names and
 * codes alone: words can hold what was written.
 */
function causeOf(error: unknown): string {
  const kinds: string[] = []
  for (let at = error; at instanceof Error && kinds.length < CAUSES_MAX; at = behind(at)) {
    const code = String(codeOf(at) ?? '')
    const name = at.name === 'Error' && CODE.test(code) ? '' : at.name
    const kind = [name, CODE.test(code) ? code : ''].filter((word) => word !== '').join(' ')
    if (kinds.at(-1) !== kind) kinds.push(kind)
  }
  return kinds.length === 0 ? 'unknown' : kinds.join(': ')
}

/** What an error was made of; of a failed selection, why the first of the servers cannot be used. */
function behind(error: Error): unknown {
  const { cause, reason } = error as { cause?: unknown; reason?: { servers?: unknown } } // each is checked below
  const servers = reason?.servers
  const [first] = servers instanceof Map ? [...servers.values()] : []
  return first?.error ?? cause
}

/** How long the server may take to be found, to connect and to answer, ms. */
const SELECT_MS = 3_000
const ANSWER_MS = 15_000
/** Codes of an index that exists with other options, or whose documents contradict it. */
const INDEX_CONFLICTS: ReadonlySet<unknown> = new Set([85, 86, 11_000])
/** Integers stay `Int32`, `Long` or `Double`, as stored. */
const AS_STORED = { promoteValues: false, promoteLongs: false } as const

/** What of an address may be shown: hosts and database, no credentials, no options. */
export function shownUrl(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*$/, '')
}

/** What may be set beside the defaults, ms. */
interface MongoLinkOptions {
  readonly selectMs?: number
  readonly answerMs?: number
}

/** The database over its own protocol. `fallback` is the database's name when the URL has none. Connects when used. */
export function mongoLink(url: string, fallback: string, options: MongoLinkOptions = {}): DocumentLink {
  const { selectMs = SELECT_MS, answerMs = ANSWER_MS } = options
  let session: Session | undefined
  let isClosed = false
  let writes = 0
  const name = databaseOf(url) ?? fallback
  const where = shownUrl(url)
  /** A client that did not get through is not asked again: one whose first connection failed never recovers. */
  const forget = (failed: Session): void => {
    if (session === failed) session = undefined
    failed.isForgotten = true
    if (failed.calls === 0) void closed(failed)
  }
  const guarded = async <T>(
    collection: string,
    signal: AbortSignal,
    work: (held: Collection) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted()
    // A straggler would open connections that nobody closes any more.
    if (isClosed)
      throw southboundUnavailable(`the connection to the subscriber database at ${where} is closed`)
    session ??= { client: open(url, selectMs, answerMs), calls: 0, isForgotten: false }
    const mine = session
    mine.calls += 1
    const call = async (): Promise<T> => await work((await mine.client).db(name).collection(collection))
    try {
      return await abortable(call(), signal, answerMs)
    } catch (error) {
      signal.throwIfAborted()
      if (!isRefusal(error)) forget(mine)
      throw southboundUnavailable(`the subscriber database at ${where} does not answer: ${causeOf(error)}`)
    } finally {
      mine.calls -= 1
      if (mine.isForgotten && mine.calls === 0) void closed(mine)
    }
  }
  return {
    pace: { everyMs: 3_000, awayMs: 3_000 },
    where,
    get writes() {
      return writes
    },
    find: (collection, filter, projection, signal, limit = 0) =>
      guarded(collection, signal, (held) => held.find(filter, { projection, limit, ...AS_STORED }).toArray()),
    count: (collection, filter, signal) =>
      guarded(collection, signal, async (held) => Number(await held.countDocuments(filter))),
    write: (collection, ops, signal) =>
      guarded(collection, signal, async (held) => {
        if (ops.length === 0) return []
        try {
          // Operations as the driver takes them; its types know nothing of read-only ones.
          await held.bulkWrite(ops as unknown as Parameters<typeof held.bulkWrite>[0], { ordered: false })
          return ops.map(() => undefined)
        } catch (error) {
          return failuresOf(error, ops)
        }
      }).finally(() => {
        writes += 1
      }),
    ensureIndex: (collection, field, unique, signal) =>
      guarded(collection, signal, async (held) => {
        try {
          await held.createIndex({ [field]: 1 }, { unique })
          return 'ok'
        } catch (error) {
          if (INDEX_CONFLICTS.has(codeOf(error))) return 'conflict'
          throw error
        }
      }),
    drop: (collection, signal) =>
      guarded(collection, signal, async (held) => {
        await held.drop()
      }),
    close: async () => {
      isClosed = true
      const last = session
      session = undefined
      if (last !== undefined) await closed(last)
    },
  }
}

/** A client, and the calls that it has under way. */
interface Session {
  readonly client: Promise<MongoClient>
  calls: number
  /** Closed when its last call has ended. */
  isForgotten: boolean
}

/** Closes a client. One that could not be opened, or does not close, has nothing that could be used. */
async function closed({ client }: Session): Promise<void> {
  await client.then((opened) => opened.close()).catch(() => undefined)
}

/**
 * A connected client: connected here and not by its first call, whose failure would be told to the others as another
 * one. Loads the MongoDB driver only when somebody needs it.
 */
async function open(url: string, selectMs: number, answerMs: number): Promise<MongoClient> {
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url, {
    appName: 'steeple',
    serverSelectionTimeoutMS: selectMs,
    connectTimeoutMS: selectMs,
    socketTimeoutMS: answerMs,
    maxPoolSize: 4,
    minPoolSize: 0,
    maxIdleTimeMS: 60_000,
  })
  try {
    return await client.connect()
  } catch (error) {
    await client.close().catch(() => undefined) // why it did not connect says more
    throw error
  }
}

function databaseOf(url: string): string | undefined {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]*\/([^?]*)/.exec(url)?.[1]
  return path === undefined || path === '' ? undefined : decodeURIComponent(path)
}

function failuresOf(error: unknown, ops: readonly WriteOp[]): readonly (WriteFailure | undefined)[] {
  const found = (error as { writeErrors?: unknown }).writeErrors
  const list: readonly unknown[] = found === undefined ? [] : [found].flat()
  if (list.length === 0) throw error
  const byIndex = new Map<unknown, WriteFailure>()
  for (const entry of list) {
    const { index, code } = entry as { index?: unknown; code?: unknown } // read from outside, checked below
    byIndex.set(index, { code: typeof code === 'number' ? code : 0 })
  }
  return ops.map((_op, index) => byIndex.get(index))
}

/** How long the engine may take to start a program, ms. */
const ENGINE_MS = 5_000
/**
 * So many programs may be left running by those who gave up on them. An engine ends no program of a container, and one that has not
 * begun to read does not see that nobody waits for it: on a busy machine each further one would make all of them slower.
 */
const LEFT_MAX = 2
/** Exit codes of a program that cannot be run or is not there. */
const NO_PROGRAM: ReadonlySet<unknown> = new Set([126, 127])

/**
 * Programs inside a container, through the engine's API.
 *
 * `socket` is the engine's; empty takes the one of `DOCKER_HOST`, Docker's own, or Podman's when only that is there.
 * The engine and the container are looked up at each start, so both may be recreated meanwhile.
 */
export function engineHost(socket: string, container: string): ShellHost {
  const where = `container ${container}`
  const left = new Set<Docker.Exec>()
  let starting = 0
  const leftRunning = async (): Promise<number> => {
    await Promise.all([...left].map(async (exec) => (await isRunning(exec)) || left.delete(exec)))
    return left.size + starting
  }
  return {
    where,
    start: async (command, listener, signal) => {
      if ((await leftRunning()) >= LEFT_MAX) {
        throw southboundUnavailable(
          `${where}: ${LEFT_MAX} mongosh of earlier looks still run in it; restart it, or give the machine less to do`,
        )
      }
      signal.throwIfAborted()
      starting += 1
      const running = run(socket, container, command, listener, left).finally(() => {
        starting -= 1
      })
      try {
        return await abortable(running, signal, ENGINE_MS)
      } catch (error) {
        // One that starts too late is ended.
        void running.then(
          (late) => late.destroy(),
          () => undefined,
        )
        signal.throwIfAborted()
        throw southboundUnavailable(`${where}: ${engineProblem(error, 'hss.container')}`)
      }
    },
  }
}

async function run(
  socket: string,
  container: string,
  command: readonly string[],
  listener: ShellListener,
  left: Set<Docker.Exec>,
): Promise<ShellProcess> {
  const engine = await dockerAt(socket)
  const exec = await engine.getContainer(container).exec({
    Cmd: [...command],
    // mongosh writes what it looks for, IMSIs among it, into a log at home: it gets none.
    Env: ['HOME=/dev/null'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  })
  const stream = await exec.start({ hijack: true, stdin: true })
  const output = new PassThrough()
  const errors = new PassThrough()
  let isOver = false
  const end = async (): Promise<void> => {
    if (isOver) return
    isOver = true
    const code = await exitCodeOf(exec)
    listener.ended(
      NO_PROGRAM.has(code) ? 'it has no mongosh' : `mongosh ended with code ${code ?? 'unknown'}`,
    )
  }
  output.on('data', (bytes: Buffer) => listener.output(bytes))
  errors.resume() // its words can hold what was written
  engine.modem.demuxStream(stream, output, errors)
  stream.once('end', () => void end())
  stream.once('close', () => void end())
  stream.once('error', () => void end())
  return {
    write: (line) => {
      if (!isOver) stream.write(`${line}\n`)
    },
    destroy: () => {
      if (!isOver) left.add(exec)
      isOver = true
      stream.end()
      // The engine's stream is a socket, which the declared interface does not tell.
      const closable = stream as NodeJS.ReadWriteStream & { destroy?: () => void }
      closable.destroy?.()
    },
  }
}

/** One that the engine does not know any more has ended; of one that the engine does not tell of in time nobody knows that. */
async function isRunning(exec: Docker.Exec): Promise<boolean> {
  try {
    return (await abortable(exec.inspect(), AbortSignal.timeout(ENGINE_MS), ENGINE_MS)).Running
  } catch (error) {
    return (error as { readonly statusCode?: unknown }).statusCode !== 404
  }
}

async function exitCodeOf(exec: Docker.Exec): Promise<number | undefined> {
  try {
    const { ExitCode } = await abortable(exec.inspect(), AbortSignal.timeout(ENGINE_MS), ENGINE_MS)
    return ExitCode ?? undefined
  } catch {
    return undefined // the engine is gone or knows it no more: the code stays unknown
  }
}

/** The database itself when it can be reached, else a mongosh in its container. */
export function linkOf(hss: HssConfig, database: string): DocumentLink {
  if (hss.mongo_url !== '') return mongoLink(hss.mongo_url, database)
  return shellLink(engineHost(hss.engine_socket, hss.container), database)
}

/** What the doctor looks at of such a link. */
export function linkLooks({ container, mongo_url: url }: HssConfig): readonly Look[] {
  if (url === '') return [{ name: 'hss', container, key: 'hss.container (or hss.driver)' }]
  return mongoHosts(url).map((host) => ({ name: 'hss', url: `mongodb://${host}`, key: 'hss.mongo_url' }))
}

const MONGO_PORT = 27_017

/** `mongodb://user:password@a:1,b/db`: the hosts with their ports, never the rest. */
function mongoHosts(url: string): readonly string[] {
  if (url.startsWith('mongodb+srv:')) return []
  const authority = url.replace(/^mongodb:\/\//, '').split('/')[0] ?? ''
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',')
  return hosts.map((host) => (/:\d+$/.test(host) ? host : `${host}:${MONGO_PORT}`))
}
