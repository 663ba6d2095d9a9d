import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isServiceError, southboundUnavailable } from '@steeple/contracts'
import type Docker from 'dockerode'
import { dockerAt, engineProblem, whereOf } from '../engine/engine.ts'
import { systemdUnits } from '../engine/systemd.ts'
import { abortable } from '../time-limit.ts'
import { type FoundDaemon, type Program, programOf } from './programs.ts'

/** A container that runs a daemon of a core. */
interface FoundContainer extends Program {
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
async function findContainers(socket: string, signal: AbortSignal): Promise<readonly FoundContainer[]> {
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

/** A daemon that runs, as the kernel tells of it. */
interface FoundProcess extends Program {
  readonly pid: number
  /** The unit of systemd that it belongs to, by its control group. */
  readonly unit: string | undefined
  /** The id of the container that it runs in. */
  readonly container: string | undefined
  readonly version: string | undefined
}

const CONTAINER = /(?:docker|libpod|crio|cri-containerd)[-/]([0-9a-f]{64})(?:\.scope)?(?:\/|$)/

const UNIT = /^\/system\.slice\/(?:[^/]+\.slice\/)*([^/]+\.service)(?:\/|$)/

/** A unit of systemd that starts a daemon of a core. */
interface FoundUnit extends Program {
  readonly unit: string
  readonly pid: number | undefined
}

const PATTERNS = ['*open5gs*.service', '*free5gc*.service']

/** Where to look for daemons; a test puts others in place of this machine's. */
export interface LookPlaces {
  readonly proc?: string
  /** dpkg's list of packages. */
  readonly packages?: string
  /** Socket of the container engine, as `hss.engine_socket` has it. */
  readonly engineSocket: string
  units?(more: readonly string[], signal: AbortSignal): Promise<readonly FoundUnit[]>
}

/** The daemons of cores on this machine, and what could not be looked at, in words. */
export interface Daemons {
  readonly daemons: readonly FoundDaemon[]
  readonly unseen: readonly string[]
}

/** Looks for the daemons of cores: processes, units of systemd, containers. Starts, stops and writes nothing. */
export async function findDaemons(places: LookPlaces, signal: AbortSignal): Promise<Daemons> {
  const unseen: string[] = []
  const tried = async <T>(work: Promise<readonly T[]>): Promise<readonly T[]> => {
    try {
      return await work
    } catch (error) {
      signal.throwIfAborted()
      unseen.push(isServiceError(error) ? error.message : 'a place could not be looked at')
      return []
    }
  }
  const processes = await findProcesses(places.proc)
  const named = processes.flatMap(({ unit }) => unit ?? [])
  const [units, containers, packages] = await Promise.all([
    tried((places.units ?? findUnits)(named, signal)),
    tried(findContainers(places.engineSocket, signal)),
    packagesIn(places.packages ?? '/var/lib/dpkg/status'),
  ])
  const rest = processes.filter(
    ({ pid, unit, container }) =>
      !units.some((one) => one.pid === pid || one.unit === unit) &&
      !containers.some((one) => one.pid === pid || one.id === container),
  )
  const of = (pid: number | undefined): FoundProcess | undefined => processes.find((one) => one.pid === pid)
  const daemons = [
    ...units.map((one) => unitDaemon(one, of(one.pid), packages)),
    ...containers.map((one) => containerDaemon(one, processes)),
    ...rest.map((one) => processDaemon(one, packages)),
  ]
  return { daemons: daemons.toSorted((a, b) => orderOf(a) - orderOf(b)), unseen }
}

function orderOf({ isRunning }: FoundDaemon): number {
  return isRunning ? 0 : 1
}

function unitDaemon(
  { unit, pid, core, role, configFile }: FoundUnit,
  process: FoundProcess | undefined,
  packages: ReadonlyMap<string, string>,
): FoundDaemon {
  return {
    core,
    role,
    runner: { kind: 'unit', name: unit },
    isRunning: pid !== undefined,
    pid,
    // What runs tells better than a unit that may have been edited since.
    configFile: process?.configFile ?? configFile,
    path: process?.configFile ?? configFile,
    version: process?.version ?? packaged(role, packages),
  }
}

function containerDaemon(one: FoundContainer, processes: readonly FoundProcess[]): FoundDaemon {
  const { core, role, container, id, isRunning, pid, configFile, path, version, isFileMount } = one
  const process = processes.find((other) => other.container === id && other.role === role)
  const problem =
    path === undefined
      ? `its file ${configFile ?? ''} lies in the container alone: mount a folder of this machine there`
      : isFileMount
        ? `only the file ${path} is mounted, and the container does not see one that takes its place: mount its folder`
        : undefined
  return {
    core,
    role,
    runner: { kind: 'container', name: container },
    isRunning,
    pid: process?.pid ?? pid,
    configFile,
    path,
    version: version ?? process?.version,
    ...(problem === undefined ? {} : { problem }),
  }
}

function processDaemon(one: FoundProcess, packages: ReadonlyMap<string, string>): FoundDaemon {
  const { core, role, unit, container, pid, configFile, version } = one
  const problem =
    container === undefined
      ? unit === undefined
        ? 'without systemd and without a container, so nobody can restart it for a change of its file'
        : undefined
      : 'it runs in a container of an engine that this service does not see: set hss.engine_socket'
  return {
    core,
    role,
    runner: unit === undefined ? { kind: 'process', name: String(pid) } : { kind: 'unit', name: unit },
    isRunning: true,
    pid,
    configFile,
    // What a container's process names is a path in there.
    path: container === undefined ? configFile : undefined,
    version: version ?? packaged(role, packages),
    ...(problem === undefined ? {} : { problem }),
  }
}

function packaged(role: string, packages: ReadonlyMap<string, string>): string | undefined {
  return packages.get(`open5gs-${role}`) ?? packages.get('open5gs')
}

/** Installed packages of cores and their versions. Source: deb822(5), dpkg's status file. */
async function packagesIn(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return new Map(
    text.split('\n\n').flatMap((paragraph) => {
      const name = /^Package: (open5gs[a-z0-9-]*)$/m.exec(paragraph)?.[1]
      const version = /^Version: (\S+)$/m.exec(paragraph)?.[1]
      return name === undefined || version === undefined ? [] : [[name, version] as const]
    }),
  )
}

/** The units of cores, those that do not run too, and `more`. Asks systemd alone. Throws `southbound_unavailable`. */
async function findUnits(more: readonly string[], signal: AbortSignal): Promise<readonly FoundUnit[]> {
  const units = await systemdUnits(PATTERNS, more, signal)
  return units.flatMap(({ unit, pid, argv, folder }) => {
    const program = programOf(argv, folder)
    return program === undefined ? [] : [{ ...program, unit, pid }]
  })
}

/** The daemons of cores among the processes that this one sees. Reads `/proc`; signals and starts nothing. */
async function findProcesses(proc = '/proc'): Promise<readonly FoundProcess[]> {
  const names = await readdir(proc).catch((): string[] => [])
  const pids = names.filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => processAt(join(proc, pid), Number(pid))))
  return found.filter((one) => one !== undefined)
}

async function processAt(dir: string, pid: number): Promise<FoundProcess | undefined> {
  // A process may end at any time, and of those of others not all can be read.
  const text = (name: string): Promise<string> => readFile(join(dir, name), 'utf8').catch(() => '')
  const argv = (await text('cmdline')).split('\0').filter((word) => word !== '')
  if (programOf(argv, '/') === undefined) return undefined
  const folder = await readlink(join(dir, 'cwd')).catch(() => undefined)
  const program = programOf(argv, folder)
  if (program === undefined) return undefined
  const groups = await text('cgroup')
  return { ...program, pid, ...runnerIn(groups), version: libraryIn(await text('maps')) }
}

/** Who runs a process, by its control groups (cgroups(7)). */
function runnerIn(groups: string): Pick<FoundProcess, 'unit' | 'container'> {
  const paths = groups.split('\n').map((line) => line.split(':').slice(2).join(':'))
  const container = paths.map((path) => CONTAINER.exec(path)?.[1]).find((id) => id !== undefined)
  const unit = paths.map((path) => UNIT.exec(path)?.[1]).find((name) => name !== undefined)
  return { container, unit: container === undefined ? unit : undefined }
}

/** The release of Open5GS by the file of its library that is loaded. */
function libraryIn(maps: string): string | undefined {
  return /libogscore\.so\.([0-9]+\.[0-9.]*[0-9])/.exec(maps)?.[1]
}
