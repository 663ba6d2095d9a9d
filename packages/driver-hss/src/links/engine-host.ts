import { PassThrough } from 'node:stream'
import { southboundUnavailable } from '@steeple/contracts'
import { abortable, dockerAt, engineProblem } from '@steeple/southbound'
import type Docker from 'dockerode'
import type { ShellHost, ShellListener, ShellProcess } from './shell-host.ts'

/** How long the engine may take to start a program, ms. */
const ENGINE_MS = 5_000
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
  return {
    where,
    start: async (command, listener, signal) => {
      signal.throwIfAborted()
      const running = run(socket, container, command, listener)
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
      isOver = true
      stream.end()
      // The engine's stream is a socket, which the declared interface does not tell.
      const closable = stream as NodeJS.ReadWriteStream & { destroy?: () => void }
      closable.destroy?.()
    },
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
