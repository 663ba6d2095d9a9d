import { join } from 'node:path'
import { southboundUnavailable } from '@steeple/contracts'
import type Docker from 'dockerode'
import { dockerAt, engineProblem, whereOf } from '../engine/engine.ts'
import { abortable } from '../time-limit.ts'
import { type Program, programOf } from './programs.ts'

/** A container that runs a daemon of a core. */
export interface FoundContainer extends Program {
  readonly container: string
  readonly id: string
  readonly isRunning: boolean
  readonly pid: number | undefined
  readonly version: string | undefined
  /** Its file on the machine of the engine; undefined where it lies in the container alone. */
  readonly path: string | undefined
  /** The file alone is mounted: one that takes its place is not seen in the container. */
  readonly isFileMount: boolean
}

const ANSWER_MS = 10_000
const MOST = 200

/** The containers of cores at that engine. Lists and inspects alone. Throws `southbound_unavailable`. */
export async function findContainers(
  socket: string,
  signal: AbortSignal,
): Promise<readonly FoundContainer[]> {
  let docker: Docker | undefined
  try {
    const engine = await dockerAt(socket)
    docker = engine
    const all = await abortable(engine.listContainers({ all: true, limit: MOST }), signal, ANSWER_MS)
    const found = await abortable(
      Promise.all(all.map(({ Id }) => containerAt(engine.getContainer(Id)))),
      signal,
      ANSWER_MS,
    )
    return found.flat()
  } catch (error) {
    signal.throwIfAborted()
    throw southboundUnavailable(
      `containers were not looked at: ${engineProblem(error)} (engine at ${whereOf(docker, socket)})`,
    )
  }
}

async function containerAt(container: Docker.Container): Promise<readonly FoundContainer[]> {
  // One that goes away meanwhile is none.
  const info = await container.inspect().catch(() => undefined)
  if (info === undefined) return []
  const { State: state, Config: config } = info
  const folder = config.WorkingDir === '' ? '/' : config.WorkingDir
  const lines = [[info.Path, ...info.Args], ...(state.Running ? await processesIn(container) : [])]
  const programs = new Map(
    lines.flatMap((argv) => {
      const program = programOf(argv, folder)
      return program === undefined ? [] : [[program.role, program] as const]
    }),
  )
  return [...programs.values()].map((program) => ({
    ...program,
    container: info.Name.replace(/^\//, ''),
    id: info.Id,
    isRunning: state.Running,
    pid: programs.size === 1 && state.Pid > 0 ? state.Pid : undefined,
    version: versionOf(config),
    ...placeOf(program.configFile, info.Mounts),
  }))
}

/** The command lines of what runs in it; a wrapper that was started first has begun them. */
async function processesIn(container: Docker.Container): Promise<readonly (readonly string[])[]> {
  const top: {
    readonly Titles?: readonly string[] | null
    readonly Processes?: readonly (readonly string[])[] | null
  } = await container.top().catch(() => ({}))
  const at = (top.Titles ?? []).findIndex((title) => ['CMD', 'COMMAND'].includes(title))
  return (top.Processes ?? []).map((row) => (row[at] ?? '').split(/\s+/).filter((word) => word !== ''))
}

function versionOf({
  Image: image,
  Labels: labels,
}: Docker.ContainerInspectInfo['Config']): string | undefined {
  const label = labels?.['org.opencontainers.image.version']
  const tag = /:([^:/@]+)(?:@|$)/.exec(image)?.[1]
  return label ?? (tag === 'latest' ? undefined : tag)
}

/** Where a path of a container is on the machine, by what is mounted there. */
function placeOf(
  path: string | undefined,
  mounts: readonly { readonly Source: string; readonly Destination: string }[],
): Pick<FoundContainer, 'path' | 'isFileMount'> {
  const [mount] = mounts
    .filter(({ Destination: to }) => path === to || path?.startsWith(to.endsWith('/') ? to : `${to}/`))
    .toSorted((a, b) => b.Destination.length - a.Destination.length)
  if (path === undefined || mount === undefined) return { path: undefined, isFileMount: false }
  return {
    path: join(mount.Source, path.slice(mount.Destination.length)),
    isFileMount: mount.Destination === path,
  }
}
