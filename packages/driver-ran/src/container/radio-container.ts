import { PassThrough, type Readable } from 'node:stream'
import { southboundUnavailable, validationFailed } from '@steeple/contracts'
import { abortable, dockerAt, engineProblem, statusOf } from '@steeple/southbound'

/** How long the engine may take to answer, ms. */
const ANSWER_MS = 3_000

/** What the engine says of the container. */
interface ContainerLook {
  readonly isRunning: boolean
  /** Of its first process, as this machine knows it. */
  readonly pid: number | undefined
  readonly exitCode: number | undefined
}

/** The streams of a container that runs. */
export interface ContainerStreams {
  readonly input: NodeJS.WritableStream
  readonly outputs: readonly Readable[]
  /** Resolves when the engine has ended them. */
  readonly over: Promise<void>
  /** Lets go of them: the container's input ends. */
  drop(): void
}

/** The container that was made for the radio. Every call is bounded and throws `southbound_unavailable`. */
export interface RadioContainer {
  /** Undefined when there is none of that name. */
  look(): Promise<ContainerLook | undefined>
  /** Throws `validation_failed` when it was made so that it could send without the driver. */
  require(script: string): Promise<void>
  start(): Promise<ContainerStreams>
  /** Kills everything in it; does nothing when it does not run. */
  kill(): Promise<void>
}

/** The container of that name at the engine behind `socket`. */
export function radioContainer(socket: string, name: string): RadioContainer {
  const call = async <T>(work: (container: EngineContainer) => Promise<T>): Promise<T> => {
    try {
      const docker = await dockerAt(socket)
      const signal = new AbortController().signal
      return await abortable(work(docker.getContainer(name)), signal, ANSWER_MS)
    } catch (error) {
      throw southboundUnavailable(`container ${name}: ${engineProblem(error, 'ran.container')}`, {
        cause: error,
      })
    }
  }
  const inspect = () =>
    call(async (container) => {
      try {
        return await container.inspect()
      } catch (error) {
        if (statusOf(error) === 404) return undefined
        throw error
      }
    })
  return {
    look: async () => {
      const info = await inspect()
      if (info === undefined) return undefined
      const { Running: isRunning, Pid: pid, ExitCode: exitCode } = info.State
      return {
        isRunning,
        pid: isRunning && pid > 0 ? pid : undefined,
        exitCode: isRunning ? undefined : exitCode,
      }
    },
    require: async (script) => {
      const info = await inspect()
      if (info === undefined)
        throw validationFailed(`ran.container ${name} is not there; see docs/how-to/radio.md`)
      const problems = problemsOf(info, script)
      if (problems.length === 0) return
      throw validationFailed(
        `ran.container ${name} cannot be used: ${problems.join('; ')} (see docs/how-to/radio.md)`,
      )
    },
    start: () => call(started),
    kill: () =>
      call(async (container) => {
        try {
          await container.kill({ signal: 'KILL' })
        } catch (error) {
          // 409 and Podman's 500 when it does not run, 404 when it is gone: the look afterwards tells.
          if (statusOf(error) === undefined) throw error
        }
      }),
  }
}

type EngineContainer = ReturnType<Awaited<ReturnType<typeof dockerAt>>['getContainer']>
type ContainerInfo = Awaited<ReturnType<EngineContainer['inspect']>>

/** Starts it, with its streams taken first: nothing that it says is lost. */
async function started(container: EngineContainer): Promise<ContainerStreams> {
  const stream = await container.attach({
    stream: true,
    hijack: true,
    stdin: true,
    stdout: true,
    stderr: true,
  })
  const [out, errors] = [new PassThrough(), new PassThrough()]
  container.modem.demuxStream(stream, out, errors)
  const over = Promise.withResolvers<void>()
  // The engine's stream is a socket, which the declared interface does not tell.
  const socketStream = stream as typeof stream & { destroy(): void }
  const end = (): void => {
    over.resolve()
    for (const output of [out, errors]) output.end()
  }
  for (const event of ['end', 'close', 'error']) stream.once(event, end)
  try {
    await container.start()
  } catch (error) {
    socketStream.destroy()
    throw error
  }
  return {
    input: stream,
    outputs: [out, errors],
    over: over.promise,
    drop: () => socketStream.destroy(),
  }
}

function problemsOf(info: ContainerInfo, script: string): readonly string[] {
  const problems: string[] = []
  const policy = info.HostConfig.RestartPolicy?.Name ?? ''
  if (policy !== '' && policy !== 'no') {
    problems.push(`its restart policy is ${policy}, so the engine would start it without asking the gate`)
  }
  const command = [info.Path, ...info.Args]
  if (!/(^|\/)bash$/.test(command[0] ?? '') || command.length !== 2 || command[1] !== script) {
    problems.push(`it must run bash with the one argument ${script}`)
  }
  if (info.Config.Tty || !info.Config.OpenStdin)
    problems.push('it must have an open input and no terminal (-i)')
  return problems
}
