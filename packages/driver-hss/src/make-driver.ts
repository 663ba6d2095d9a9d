import { PassThrough } from 'node:stream'
import {
  type BatchResult,
  type Imsi,
  type Settings,
  sectionOf,
  southboundUnavailable,
} from '@steeple/contracts'
import { abortable, dockerAt, engineProblem } from '@steeple/southbound'
import type Docker from 'dockerode'
import { dbctlDriver } from './dbctl/dbctl-driver.ts'
import type { WriteBackDriver } from './driver.ts'
import { FREE5GC_DATABASE, free5gcDriver } from './free5gc/free5gc-driver.ts'
import type { DocumentLink } from './links/document-link.ts'
import { mongoLink } from './links/mongo-link.ts'
import type { ShellHost, ShellListener, ShellProcess } from './links/shell-host.ts'
import { shellLink } from './links/shell-link.ts'
import { OPEN5GS_DATABASE, open5gsDriver } from './open5gs/open5gs-driver.ts'

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

/** Of a core that nothing is known of: what the drivers of cores have where nothing is said. */
const STOCK_RELEASE = '4.2.3'
const STOCK_SLICES: Settings['core_a']['slices'] = [{ sst: 1 }]

/**
 * The driver that the settings name. Opens nothing yet. PLMN and slices are read at each call, since they change
 * without a reload.
 */
export function makeDriver(settings: () => Settings): WriteBackDriver {
  const { hss } = settings()
  const slices = () => sectionOf(settings(), 'core_a').slices ?? STOCK_SLICES
  if (hss.driver === 'none') return noneDriver()
  if (hss.driver === 'core_b') {
    const link = linkOf(hss, FREE5GC_DATABASE)
    const plmn = () => settings().plmn
    return free5gcDriver({
      name: hss.driver,
      link,
      plmn,
      slices: () => sectionOf(settings(), 'core_b').slices ?? STOCK_SLICES,
      release: () => sectionOf(settings(), 'core_b').release ?? STOCK_RELEASE,
    })
  }
  if (hss.driver === 'docdb_shell') {
    return open5gsDriver({ name: hss.driver, link: linkOf(hss, OPEN5GS_DATABASE), slices })
  }
  const documents =
    hss.mongo_url === ''
      ? undefined
      : open5gsDriver({ name: hss.driver, link: linkOf(hss, OPEN5GS_DATABASE), slices })
  return dbctlDriver({ path: hss.dbctl_path, url: hss.mongo_url, documents })
}

/** The database itself when it can be reached, else a mongosh in its container. */
function linkOf(hss: Settings['hss'], database: string): DocumentLink {
  if (hss.mongo_url !== '') return mongoLink(hss.mongo_url, database)
  return shellLink(engineHost(hss.engine_socket, hss.container), database)
}

/** `hss.driver: none`: nobody is told anything, and nothing is seen. */
export function noneDriver(): WriteBackDriver {
  const nothing = async (imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult> => {
    signal.throwIfAborted()
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  return {
    name: 'none',
    observe: async (_imsis, signal) => {
      signal.throwIfAborted()
      return new Map()
    },
    upsert: (subscribers, signal) =>
      nothing(
        subscribers.map(({ imsi }) => imsi),
        signal,
      ),
    remove: nothing,
    setBlocked: (imsis, _isBlocked, signal) => nothing(imsis, signal),
    probe: async () => ({ isOk: true, detail: 'hss.driver is none: SIMs are not written anywhere' }),
    sweep: async () => undefined,
    close: async () => undefined,
  }
}
