import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a program of a container does when it is started: stays up, or ends with a code after it said something. */
export type Program = () => { readonly exitCode?: number; readonly log?: string; readonly refusal?: string }

export interface StandInContainer {
  readonly name: string
  isRunning: boolean
  /** Starts so far. */
  starts: number
  exitCode: number
  startedAtMs: number
  restartCount: number
  log: string
  /** When each line of the log was said, s since the epoch. */
  readonly saidAt: number[]
  /** The engine starts it again by itself whenever it ends. */
  isRestless: boolean
  program: Program
  /** Its command line, and the folder of this machine that it sees at `/etc/open5gs`. */
  argv: readonly string[]
  folder: string
}

/** A container engine that speaks the few calls of the Docker API over a real socket. */
export interface StandInEngine extends AsyncDisposable {
  readonly socket: string
  mood: 'well' | 'hang' | 'broken' | 'dropping'
  /** Names of restarted containers, in order. */
  readonly restarts: readonly string[]
  add(name: string, program?: Program): StandInContainer
  remove(name: string): void
  container(name: string): StandInContainer
  /** Takes the socket away. */
  close(): Promise<void>
}

/** Starts one without containers. */
export async function startEngine(): Promise<StandInEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'steeple-engine-'))
  const socket = join(folder, 'engine.sock')
  const containers = new Map<string, StandInContainer>()
  const restarts: string[] = []
  let mood: StandInEngine['mood'] = 'well'
  let ticks = Date.parse('2026-01-01T00:00:00Z')
  const json = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const start = (container: StandInContainer): string | undefined => {
    const { exitCode, log = '', refusal } = container.program()
    if (refusal !== undefined) {
      container.isRunning = false
      return refusal
    }
    ticks = Math.max(ticks + 1_000, Date.now())
    container.starts += 1
    container.startedAtMs = ticks
    container.log = log === '' ? container.log : `${container.log}${log}\n`
    for (const _line of log === '' ? [] : log.split('\n')) container.saidAt.push(ticks / 1000)
    container.isRunning = exitCode === undefined
    container.exitCode = exitCode ?? 0
    return undefined
  }
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? '/', 'http://engine')
    const [, name = '', call = ''] = /\/containers\/([^/]+)\/(json|restart|logs)$/.exec(url.pathname) ?? []
    const container = containers.get(decodeURIComponent(name))
    if (mood === 'hang') return
    if (mood === 'broken') json(response, 500, { message: 'out of order' })
    else if (container === undefined) none(url.pathname, name, response)
    else if (call === 'json') inspect(container, response)
    else if (call === 'logs') logs(container, Number(url.searchParams.get('since') ?? 0), response)
    else restart(container, request, response)
  }
  const none = (path: string, name: string, response: ServerResponse): void => {
    const all = [...containers.keys()].map((Id) => ({ Id }))
    if (path === '/containers/json') json(response, 200, all)
    else json(response, 404, { message: `No such container: ${name}` })
  }
  const restart = (container: StandInContainer, request: IncomingMessage, response: ServerResponse): void => {
    restarts.push(container.name)
    if (mood === 'dropping') {
      request.socket.destroy()
      return
    }
    const refusal = start(container)
    if (refusal === undefined) response.writeHead(204).end()
    else json(response, 500, { message: refusal })
  }
  const inspect = (container: StandInContainer, response: ServerResponse): void => {
    if (container.isRestless && !container.isRunning) {
      container.restartCount += 1
      start(container)
    }
    json(response, 200, {
      Id: `id-of-${container.name}`,
      Name: `/${container.name}`,
      Path: container.argv[0] ?? '',
      Args: container.argv.slice(1),
      Config: { Image: 'core:2.8.0', WorkingDir: '', Labels: {} },
      Mounts: container.folder === '' ? [] : [{ Source: container.folder, Destination: '/etc/open5gs' }],
      RestartCount: container.restartCount,
      State: {
        Running: container.isRunning,
        Restarting: false,
        ExitCode: container.exitCode,
        StartedAt: new Date(container.startedAtMs).toISOString(),
      },
    })
  }
  const server = createServer(answer)
  server.listen(socket)
  await once(server, 'listening')
  const containerOf = (name: string): StandInContainer => {
    const found = containers.get(name)
    if (found === undefined) throw new Error(`the test has no container ${name}`)
    return found
  }
  return {
    socket,
    restarts,
    get mood() {
      return mood
    },
    set mood(next) {
      mood = next
    },
    add: (name, program = () => ({})) => {
      const container = {
        name,
        isRunning: true,
        starts: 0,
        exitCode: 0,
        startedAtMs: ticks,
        restartCount: 0,
        log: '',
        saidAt: [],
        isRestless: false,
        program,
        argv: [],
        folder: '',
      }
      containers.set(name, container)
      return container
    },
    remove: (name) => {
      containers.delete(name)
    },
    container: containerOf,
    async [Symbol.asyncDispose](this: StandInEngine) {
      await this.close()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The lines since then, in frames of standard error as the engine sends them for a container without a terminal. */
function logs(container: StandInContainer, since: number, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' })
  const lines = container.log.split('\n').filter((text) => text !== '')
  for (const line of lines.filter((_line, at) => (container.saidAt[at] ?? since) >= since)) {
    const content = Buffer.from(`${line}\n`)
    const head = Buffer.alloc(8)
    head.writeUInt8(2, 0)
    head.writeUInt32BE(content.length, 4)
    response.write(Buffer.concat([head, content]))
  }
  response.end()
}
