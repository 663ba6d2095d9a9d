import { once } from 'node:events'
import { chmod, type FileHandle, open, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Ran } from './commands.ts'

/** A place to listen or connect at. */
interface SocketPlace {
  readonly path: string
  close(): Promise<void>
}

const NAME = 'dbctl.sock'
/** The longest path that a socket can have on Linux, with its closing zero octet. See unix(7). */
const PATH_MAX = 107

/** Where the socket of a directory is. A directory with a long name is reached through a handle of it. */
async function socketPlace(directory: string): Promise<SocketPlace> {
  const path = join(directory, NAME)
  if (Buffer.byteLength(path) <= PATH_MAX) return { path, close: async () => undefined }
  const handle: FileHandle = await open(directory, 'r')
  return { path: `/proc/self/fd/${handle.fd}/${NAME}`, close: () => handle.close() }
}

/** Runs the words of one command. */
export type RunWords = (words: readonly string[]) => Promise<Ran>

/** A socket that is being served. */
export interface SocketServer {
  close(): Promise<void>
}

/**
 * Serves the tool on the socket in `directory`, for its owner alone: a JSON list of words a line, answered by a JSON
 * object `{code, output}` a line, in order. Throws when another lab core serves that directory.
 */
export async function serveSocket(directory: string, run: RunWords): Promise<SocketServer> {
  const place = await socketPlace(directory)
  if (await isServed(place.path)) throw new Error(`another lab core runs on ${directory}`)
  await rm(place.path, { force: true })
  const sockets = new Set<Socket>()
  // The tool says all it has to say and then listens.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
    void serveLines(socket, run).catch(() => socket.destroy())
  })
  server.listen(place.path)
  await once(server, 'listening')
  await chmod(place.path, 0o600)
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await rm(place.path, { force: true })
      await place.close()
    },
  }
}

/** All lines of a moment are run at once, so that they become durable together; their order holds. */
async function serveLines(socket: Socket, run: RunWords): Promise<void> {
  let last: Promise<void> = Promise.resolve()
  for await (const line of createInterface({ input: socket })) {
    const ran = run(wordsIn(line))
    last = Promise.all([ran, last]).then(([answer]) => {
      socket.write(`${JSON.stringify(answer)}\n`)
    })
    last.catch(() => socket.destroy())
  }
  await last
  socket.end()
}

function wordsIn(line: string): readonly string[] {
  const words: unknown = JSON.parse(line)
  return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : []
}

async function isServed(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
