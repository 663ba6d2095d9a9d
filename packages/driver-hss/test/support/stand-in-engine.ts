import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { partsFolder } from './real-parts.ts'

/** Where programs of tests keep what they have compiled, as the tests themselves do. */
const COMPILED: string = join(import.meta.dirname, '../../../../node_modules/.cache/tests')

/** What the containers of the stand-in do. */
export type EngineMood =
  | 'well'
  | 'absent'
  | 'stopped'
  | 'hang'
  | 'deaf'
  | 'slow'
  | 'garbage'
  | 'no-mongosh'
  | 'unreachable-database'

/** An engine that speaks the exec part of the Docker API on a socket and runs commands as processes of this machine. */
export interface StandInEngine {
  readonly socket: string
  mood: EngineMood
  /** Command lines seen so far. */
  readonly commands: readonly (readonly string[])[]
  /** What went through standard input so far. */
  input(): string
  /** Ends every running program, as recreating the container does. */
  recreate(): void
  running(): number
  /** Takes the socket away; programs end. */
  close(): Promise<void>
}

interface Exec {
  readonly command: readonly string[]
  code: number | undefined
}

/** Starts one whose `mongosh` reaches the database on `port`. */
export async function startEngine(port: number): Promise<StandInEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'steeple-engine-'))
  const socket = join(folder, 'engine.sock')
  const execs = new Map<string, Exec>()
  const commands: (readonly string[])[] = []
  const children = new Set<ChildProcess>()
  const streams = new Set<Duplex>()
  const input: string[] = []
  let mood: EngineMood = 'well'
  const waiting: (() => unknown)[] = []
  const mongosh = join(partsFolder('mongosh-2.12.0'), 'node_modules/.bin/mongosh')

  const program = (command: readonly string[]): readonly string[] => {
    if (mood === 'hang') return ['sh', '-c', 'cat >/dev/null']
    // As one that has not come so far as to read: it does not see that nobody waits for it.
    if (mood === 'deaf') return ['sleep', '600']
    if (mood === 'garbage')
      return [
        'sh',
        '-c',
        'echo "steeple-answer:0:{}"; while read -r line; do echo "%$ {{"; head -c 3000 /dev/urandom; echo; done',
      ]
    if (mood === 'no-mongosh') return ['sh', '-c', 'exit 127']
    const target = mood === 'unreachable-database' ? '1' : String(port)
    return [mongosh, ...command.slice(1)].map((word) =>
      word.replace('127.0.0.1:27017', `127.0.0.1:${target}`),
    )
  }
  const start = (exec: Exec, stream: Duplex): void => {
    const [file = '', ...rest] = program(exec.command)
    const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED }
    const child = spawn(file, rest, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    children.add(child)
    streams.add(stream)
    const frame = (kind: number) => (bytes: Buffer) => {
      const head = Buffer.alloc(8)
      head.writeUInt8(kind, 0)
      head.writeUInt32BE(bytes.length, 4)
      stream.write(Buffer.concat([head, bytes]))
    }
    child.stdout.on('data', frame(1))
    child.stderr.on('data', frame(2))
    stream.on('data', (bytes: Buffer) => {
      input.push(bytes.toString('utf8'))
      child.stdin.write(bytes)
    })
    stream.on('end', () => child.stdin.end())
    stream.on('close', () => child.stdin.end())
    for (const one of [stream, child.stdin]) one.on('error', () => undefined)
    child.on('close', (code) => {
      exec.code = code ?? 137
      children.delete(child)
      streams.delete(stream)
      stream.end()
    })
  }
  const reply = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').replace(/^\/v[0-9.]+/, '')
    const body = await text(request)
    const container = /^\/containers\/([^/]+)\/exec$/.exec(path)
    if (container !== null) {
      if (mood === 'absent' || container[1] !== 'mongo')
        return reply(response, 404, { message: 'No such container' })
      if (mood === 'stopped') return reply(response, 409, { message: 'container is not running' })
      const { Cmd } = JSON.parse(body) as { Cmd: readonly string[] }
      const id = `exec${execs.size}`
      execs.set(id, { command: Cmd, code: undefined })
      commands.push(Cmd)
      return reply(response, 201, { Id: id })
    }
    const exec = execs.get(/^\/exec\/([^/]+)\/json$/.exec(path)?.[1] ?? '')
    if (exec === undefined) return reply(response, 404, { message: 'No such exec' })
    return reply(response, 200, { ExitCode: exec.code ?? null, Running: exec.code === undefined })
  }
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const id = /\/exec\/([^/]+)\/start$/.exec(request.url ?? '')?.[1] ?? ''
    const exec = execs.get(id)
    if (exec === undefined) return stream.end('HTTP/1.1 404 Not Found\r\n\r\n')
    // As a Podman that has too much to do: what was asked for starts when nobody waits for it any more.
    if (mood === 'slow') return waiting.push(() => upgraded(exec, request, stream, head))
    return upgraded(exec, request, stream, head)
  })
  const upgraded = (exec: Exec, request: IncomingMessage, stream: Duplex, head: Buffer): unknown => {
    const length = Number(request.headers['content-length'] ?? 0)
    stream.write(
      'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
    )
    // The body of the request arrives with the upgrade; what follows it is standard input.
    if (head.length > length) stream.unshift(head.subarray(length))
    if (head.length >= length) return start(exec, stream)
    return stream.once('data', (bytes: Buffer) => {
      if (bytes.length > length) stream.unshift(bytes.subarray(length))
      start(exec, stream)
    })
  }
  server.listen(socket)
  await once(server, 'listening')
  const recreate = (): void => {
    for (const child of children) child.kill('SIGKILL')
    for (const stream of streams) stream.destroy()
  }
  return {
    socket,
    commands,
    get mood() {
      return mood
    },
    set mood(next) {
      mood = next
      for (const begin of waiting.splice(0)) begin()
    },
    input: () => input.join(''),
    recreate,
    running: () => children.size,
    close: async () => {
      recreate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
