import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'

/** A container engine with one container, whose processes are this machine's. */
export interface EngineStandIn {
  readonly socket: string
  /** What `inspect` says besides its state. */
  readonly made: {
    Path: string
    Args: readonly string[]
    HostConfig: { RestartPolicy: { Name: string } }
    Config: { Tty: boolean; OpenStdin: boolean }
  }
  /** The engine does nothing when it is asked to kill. */
  refusesToKill: boolean
  readonly pid: number | undefined
  /** Drops every connection, as a service that dies does. */
  drop(): void
  close(): Promise<void>
}

/** Serves the engine's API on a socket in `root`. The container `radio` runs bash with `script`. */
export async function engineStandIn(root: string, script: string): Promise<EngineStandIn> {
  const socket = join(root, 'engine.sock')
  const connections = new Set<Duplex>()
  let attached: Duplex | undefined
  let input: Buffer = Buffer.alloc(0)
  let running: ChildProcess | undefined
  let exitCode = 0
  const engine = {
    socket,
    made: {
      Path: '/bin/bash',
      Args: [script] as readonly string[],
      HostConfig: { RestartPolicy: { Name: 'no' } },
      Config: { Tty: false, OpenStdin: true },
    },
    refusesToKill: false,
    get pid() {
      return running?.pid
    },
    drop: () => {
      for (const connection of connections) connection.destroy()
    },
    close: async () => {
      kill()
      engine.drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const kill = (): void => {
    try {
      if (running?.pid !== undefined) process.kill(-running.pid, 'SIGKILL')
    } catch {
      // gone meanwhile
    }
  }
  const start = (): void => {
    const [file = '', ...args] = [engine.made.Path, ...engine.made.Args]
    const child = spawn(file, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
    })
    running = child
    const stream = attached
    for (const [kind, output] of [
      [1, child.stdout],
      [2, child.stderr],
    ] as const) {
      output.on('data', (chunk: Buffer) => stream?.write(frame(kind, chunk)))
    }
    child.stdin.on('error', () => undefined)
    // As Podman: the body of the request comes before the input.
    child.stdin.write(input)
    stream?.on('data', (chunk: Buffer) => child.stdin.write(chunk))
    for (const event of ['end', 'close']) stream?.once(event, () => child.stdin.end())
    child.once('exit', (code, signal) => {
      // The first process of a container takes all others with it.
      kill()
      exitCode = signal === null ? (code ?? 0) : 137
      running = undefined
      stream?.end()
    })
  }
  const server: Server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://engine').pathname
    if (path.endsWith('/start')) start()
    if (path.endsWith('/kill') && !engine.refusesToKill) kill()
    const isLook = path.endsWith('/json')
    const isThere = path.includes('/containers/radio/')
    response.writeHead(isThere ? (isLook ? 200 : 204) : 404, { 'Content-Type': 'application/json' })
    const state = { Running: running !== undefined, Pid: running?.pid ?? 0, ExitCode: exitCode }
    response.end(
      isLook && isThere ? JSON.stringify({ Id: 'c0ffee', ...engine.made, State: state }) : undefined,
    )
  })
  server.on('upgrade', (_request: IncomingMessage, stream: Duplex, body: Buffer) => {
    attached = stream
    input = body
    stream.on('error', () => undefined)
    stream.write(
      'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
    )
  })
  server.on('connection', (connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return engine
}

function frame(kind: 1 | 2, chunk: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head[0] = kind
  head.writeUInt32BE(chunk.length, 4)
  return Buffer.concat([head, chunk])
}
