import { randomBytes } from 'node:crypto'
import { southboundUnavailable } from '@steeple/contracts'
import { abortable } from '@steeple/southbound'
import { EJSON, Int32 } from 'bson'
import type { Doc, DocumentLink, ProbePace, WriteFailure } from './document-link.ts'

/** What every answer line begins with, followed by the id of its request. */
const ANSWER_MARK = 'steeple-answer:'

/** A shell without a request for so long ends by itself, ms: its other end is gone. */
const SHELL_IDLE_MS = 60_000

/**
 * What mongosh runs: reads requests from its standard input, one canonical EJSON line each, and writes one line for
 * each. It is the same for every call: no value of a subscriber is ever a part of it or of a command line.
 */
const SHELL_SCRIPT: string = `
const fs = require('fs');
const clock = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms) => { Atomics.wait(clock, 0, 0, ms); };
const chunk = Buffer.alloc(262144);
let held = [];
const attempt = (work) => { try { return work(); } catch (e) { if (e.code === 'EAGAIN') return -1; if (e.code === 'EOF') return 0; throw e; } };
const readLine = () => {
  let waited = 0;
  for (;;) {
    const last = held.length === 0 ? undefined : held[held.length - 1];
    const end = last === undefined ? -1 : last.indexOf(10);
    if (end >= 0) {
      const line = Buffer.concat([...held.slice(0, -1), last.subarray(0, end)]).toString('utf8');
      held = end + 1 < last.length ? [Buffer.from(last.subarray(end + 1))] : [];
      return line;
    }
    const count = attempt(() => fs.readSync(0, chunk, 0, chunk.length, null));
    if (count === 0) return undefined;
    if (count > 0) { held.push(Buffer.from(chunk.subarray(0, count))); waited = 0; continue; }
    const wait = waited < 200 ? 2 : 20;
    if (waited > ${SHELL_IDLE_MS}) return undefined;
    pause(wait);
    waited += wait;
  }
};
const writeLine = (text) => {
  const bytes = Buffer.from(text + '\\n', 'utf8');
  let at = 0;
  while (at < bytes.length) {
    const count = attempt(() => fs.writeSync(1, bytes, at));
    if (count < 0) pause(2); else at += count;
  }
};
for (;;) {
  const line = readLine();
  if (line === undefined) break;
  const request = EJSON.parse(line, { relaxed: false });
  let answer;
  try {
    const target = db.getSiblingDB(request.database).getCollection(request.collection);
    if (request.op === 'find') {
      answer = { docs: target.find(request.filter, request.projection, { promoteValues: false, promoteLongs: false }).limit(Number(request.limit)).toArray() };
    } else if (request.op === 'count') {
      answer = { count: target.countDocuments(request.filter) };
    } else if (request.op === 'write') {
      answer = { failures: [] };
      try {
        target.bulkWrite(request.ops, { ordered: false });
      } catch (e) {
        const list = e.writeErrors === undefined ? [] : [e.writeErrors].flat();
        if (list.length === 0) throw e;
        answer = { failures: list.map((entry) => ({ index: entry.index, code: entry.code })) };
      }
    } else if (request.op === 'drop') {
      answer = { ok: target.drop() };
    } else {
      target.createIndex(request.keys, { unique: request.unique });
      answer = { ok: true };
    }
  } catch (e) {
    answer = { error: { name: String(e.name), code: typeof e.code === 'number' ? e.code : 0 } };
  }
  writeLine('${ANSWER_MARK}' + request.id + ':' + EJSON.stringify(answer, { relaxed: false }));
}
process.exit(0);
`

/** A program running somewhere else, with lines in and out. */
export interface ShellProcess {
  /** Sends one line. */
  write(line: string): void
  /** Ends it and forgets it. Idempotent. */
  destroy(): void
}

/** What a program tells. `ended` comes once, with why in words that hold no data of a subscriber. */
export interface ShellListener {
  output(bytes: Buffer): void
  ended(why: string): void
}

export interface ShellHost {
  /** For people. */
  readonly where: string
  /** Throws `southbound_unavailable`. */
  start(command: readonly string[], listener: ShellListener, signal: AbortSignal): Promise<ShellProcess>
}

/** The longest answer, bytes; more is a shell gone mad. */
const ANSWER_MAX = 64 * 1024 * 1024

/** One running mongosh. One request at a time. */
interface ShellSession {
  readonly isOver: boolean
  /** The answer to one request. Rejects with `southbound_unavailable` when the shell ends or answers nonsense. */
  ask(request: Doc): Promise<Doc>
  close(): void
}

/** Starts a mongosh on `host`. */
async function openSession(
  host: ShellHost,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ShellSession> {
  let over: string | undefined
  let waiting: { readonly id: string; readonly answer: PromiseWithResolvers<Doc> } | undefined
  let shell: ShellProcess | undefined
  const linesIn = lineReader(ANSWER_MAX)
  const finish = (why: string): void => {
    over ??= why
    waiting?.answer.reject(southboundUnavailable(`${host.where}: ${over}`))
    waiting = undefined
  }
  const read = (line: string): void => {
    if (waiting === undefined || !line.startsWith(`${ANSWER_MARK}${waiting.id}:`)) return
    const { answer, id } = waiting
    waiting = undefined
    try {
      // Canonical EJSON: numbers come as Int32, Long and Double.
      answer.resolve(EJSON.parse(line.slice(ANSWER_MARK.length + id.length + 1), { relaxed: false }) as Doc)
    } catch {
      answer.reject(southboundUnavailable(`${host.where}: mongosh answers nonsense`))
    }
  }
  shell = await host.start(
    command,
    {
      output: (bytes) => {
        const lines = linesIn(bytes)
        if (lines === undefined) {
          finish('mongosh answers without end')
          shell?.destroy()
          return
        }
        for (const line of lines) read(line)
      },
      ended: finish,
    },
    signal,
  )
  const running = shell
  return {
    get isOver() {
      return over !== undefined
    },
    ask: async (request) => {
      if (over !== undefined) throw southboundUnavailable(`${host.where}: ${over}`)
      const id = randomBytes(8).toString('hex')
      const answer = Promise.withResolvers<Doc>()
      waiting = { id, answer }
      running.write(EJSON.stringify({ id, ...request }, { relaxed: false }))
      return await answer.promise
    },
    close: () => {
      finish('the connection was closed')
      running.destroy()
    },
  }
}

/** Cuts bytes into lines: gives those that are complete, or undefined when one gets longer than `limit` bytes. */
function lineReader(limit: number): (bytes: Buffer) => readonly string[] | undefined {
  let parts: Buffer[] = []
  let size = 0
  return (bytes) => {
    const lines: string[] = []
    let from = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      lines.push(Buffer.concat([...parts, bytes.subarray(from, end)]).toString('utf8'))
      parts = []
      size = 0
      from = end + 1
    }
    if (from < bytes.length) {
      parts.push(bytes.subarray(from))
      size += bytes.length - from
    }
    return size > limit ? undefined : lines
  }
}

/** How long one request may take, the start of mongosh included, ms. */
const ANSWER_MS = 15_000
/** How long a mongosh stays for the next request, ms. */
const IDLE_MS = 10_000
const INDEX_CONFLICTS: readonly unknown[] = [85, 86, 11_000]
/** Inside the container; the script and these options are all that its process list shows. */
const SHELL_COMMAND: readonly string[] = [
  'mongosh',
  '--quiet',
  '--norc',
  'mongodb://127.0.0.1:27017/?serverSelectionTimeoutMS=3000&connectTimeoutMS=3000&socketTimeoutMS=15000',
  '--eval',
  SHELL_SCRIPT,
]

/** What may be set beside the defaults. */
export interface ShellLinkOptions {
  readonly answerMs?: number
  readonly idleMs?: number
}

/** Each look starts a program. */
const PACE: ProbePace = { everyMs: 15_000, awayMs: 3_000 }

/** The database through a mongosh that runs on `host` and is kept for a while. */
export function shellLink(host: ShellHost, database: string, options: ShellLinkOptions = {}): DocumentLink {
  const { ask, drop } = keptShell(host, database, options)
  let writes = 0
  return {
    pace: PACE,
    where: host.where,
    get writes() {
      return writes
    },
    find: async (collection, filter, projection, signal, limit = 0) => {
      const request = { op: 'find', collection, filter, projection, limit }
      const { docs } = checked(await ask(request, signal), host)
      if (!Array.isArray(docs)) throw nonsense(host)
      return docs as readonly Doc[] // EJSON of documents
    },
    count: async (collection, filter, signal) => {
      const { count } = checked(await ask({ op: 'count', collection, filter }, signal), host)
      return numberOf(count)
    },
    write: async (collection, ops, signal) => {
      if (ops.length === 0) return []
      const request = { op: 'write', collection, ops }
      const answered = ask(request, signal).finally(() => {
        writes += 1
      })
      const { failures } = checked(await answered, host)
      if (!Array.isArray(failures)) throw nonsense(host)
      const byIndex = new Map(failures.map((entry) => [numberOf(entry?.index), numberOf(entry?.code)]))
      return ops.map((_op, index): WriteFailure | undefined =>
        byIndex.has(index) ? { code: byIndex.get(index) ?? 0 } : undefined,
      )
    },
    ensureIndex: async (collection, field, unique, signal) => {
      const request = { op: 'index', collection, keys: { [field]: new Int32(1) }, unique }
      const answer = await ask(request, signal)
      if (INDEX_CONFLICTS.includes(errorCodeOf(answer))) return 'conflict'
      checked(answer, host)
      return 'ok'
    },
    drop: async (collection, signal) => {
      checked(await ask({ op: 'drop', collection }, signal), host)
    },
    close: async () => drop(),
  }
}

/** A mongosh that is asked one thing at a time, stays a while for the next, and is opened anew after its end. */
function keptShell(host: ShellHost, database: string, options: ShellLinkOptions) {
  const { answerMs = ANSWER_MS, idleMs = IDLE_MS } = options
  let session: ShellSession | undefined
  let idle: NodeJS.Timeout | undefined
  let turn: Promise<unknown> = Promise.resolve()

  const drop = (): void => {
    clearTimeout(idle)
    session?.close()
    session = undefined
  }
  const attempt = async (request: Doc, signal: AbortSignal): Promise<Doc> => {
    if (session === undefined) {
      const opened = await openSession(host, SHELL_COMMAND, signal)
      if (signal.aborted) {
        opened.close()
        throw signal.reason
      }
      session = opened
    }
    return await session.ask(request)
  }
  const once = async (request: Doc, signal: AbortSignal): Promise<Doc> => {
    clearTimeout(idle)
    if (session?.isOver === true) drop()
    const isReused = session !== undefined
    const given = new AbortController()
    try {
      return await abortable(attempt(request, AbortSignal.any([signal, given.signal])), signal, answerMs)
    } catch (error) {
      given.abort()
      const hasEnded = session?.isOver === true
      drop()
      signal.throwIfAborted()
      // A kept shell may have gone with its container; every request may be repeated.
      if (!isReused || !hasEnded) throw error
      return await abortable(attempt(request, signal), signal, answerMs)
    }
  }
  const ask = async (request: Doc, signal: AbortSignal): Promise<Doc> => {
    signal.throwIfAborted()
    const mine = turn.then(async () => {
      signal.throwIfAborted()
      try {
        return await once({ database, ...request }, signal)
      } catch (error) {
        drop()
        throw error
      } finally {
        idle = setTimeout(drop, idleMs)
        idle.unref()
      }
    })
    turn = mine.catch(() => undefined)
    return await mine
  }
  return { ask, drop }
}

function checked(answer: Doc, host: ShellHost): Doc {
  if (answer.error === undefined) return answer
  const { name } = answer.error as Doc
  const kind = typeof name === 'string' && /^Mongo[A-Za-z]{1,40}$/.test(name) ? name : 'an error'
  throw southboundUnavailable(`${host.where}: mongosh reports ${kind} ${errorCodeOf(answer)}`)
}

function nonsense(host: ShellHost): Error {
  return southboundUnavailable(`${host.where}: mongosh answers nonsense`)
}

function errorCodeOf(answer: Doc): number {
  return numberOf((answer.error as Doc | undefined)?.code)
}

function numberOf(value: unknown): number {
  return Number(value ?? 0)
}
