import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type Docker from 'dockerode'

/** Where engines listen when nobody says otherwise, the first that is there: Docker's, then Podman's. */
const SOCKETS = ['/var/run/docker.sock', '/run/podman/podman.sock'] as const

/**
 * The engine's API. `socket` is a path; empty takes the one of `DOCKER_HOST`, Docker's own, or Podman's when only that
 * is there. Opens nothing yet. Throws as `stat` does when the path leads to nothing.
 */
export async function dockerAt(socket: string): Promise<Docker> {
  const socketPath = socketOf(socket)
  // A driver asks for its containers as soon as it starts, most boxes have no engine, and to load dockerode is a tenth of a start.
  if (socketPath !== undefined) await stat(socketPath)
  const { default: Engine } = await import('dockerode')
  return socketPath === undefined ? new Engine() : new Engine({ socketPath })
}

/** The path of an engine's socket, as `dockerAt` takes it; undefined when dockerode reads in `DOCKER_HOST` where the engine is. */
export function socketOf(socket: string): string | undefined {
  if (socket !== '') return socket
  const { DOCKER_HOST: host = '' } = process.env
  return host === '' ? usualSocket(SOCKETS) : undefined
}

/** The first of the sockets that is there, or else the first. */
export function usualSocket(paths: readonly [string, ...string[]]): string {
  return paths.find((path) => existsSync(path)) ?? paths[0]
}

/** Where an engine's API is, for people: the path of a socket, or host and port. There is none yet at a socket that is missing. */
export function whereOf(engine: Docker | undefined, socket: string): string {
  if (engine === undefined) return socketOf(socket) ?? 'DOCKER_HOST'
  const { socketPath, host, port } = modemOf(engine)
  if (typeof socketPath === 'string') return socketPath
  return `${String(host)}:${String(port)}`
}

/**
 * What an engine's refusal means, for people; without anything that a container or a request said. `key` is the
 * configuration key that names the container.
 */
export function engineProblem(error: unknown, key?: string): string {
  const { statusCode, code, message } = (error ?? {}) as Readonly<Record<string, unknown>> // checked below
  if (statusCode === 404) return `there is no such container${key === undefined ? '' : `; see ${key}`}`
  // Podman says it with a 500 and words.
  const isStopped = statusCode === 409 || /not running|on running containers/.test(String(message))
  if (isStopped) return 'it is not running'
  if (code === 'ENOENT') return "the engine's socket is missing; see hss.engine_socket"
  if (code === 'EACCES') return "this service may not use the engine's socket"
  if (typeof code === 'string' && /^[A-Z]{3,20}$/.test(code)) return `the engine does not answer (${code})`
  if (typeof statusCode === 'number') return `the engine answers ${statusCode}`
  return 'the engine does not answer'
}

interface ModemFacts {
  readonly socketPath?: unknown
  readonly host?: unknown
  readonly port?: unknown
}

function modemOf(engine: Docker): ModemFacts {
  // The modem's declared type leaves out what it was made with.
  return engine.modem as ModemFacts
}
