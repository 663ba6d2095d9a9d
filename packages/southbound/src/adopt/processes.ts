import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Program, programOf } from './programs.ts'

/** A daemon that runs, as the kernel tells of it. */
export interface FoundProcess extends Program {
  readonly pid: number
  /** The unit of systemd that it belongs to, by its control group. */
  readonly unit: string | undefined
  /** The id of the container that it runs in. */
  readonly container: string | undefined
  readonly version: string | undefined
}

/** The daemons of cores among the processes that this one sees. Reads `/proc`; signals and starts nothing. */
export async function findProcesses(proc = '/proc'): Promise<readonly FoundProcess[]> {
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

const CONTAINER = /(?:docker|libpod|crio|cri-containerd)[-/]([0-9a-f]{64})(?:\.scope)?(?:\/|$)/
const UNIT = /^\/system\.slice\/(?:[^/]+\.slice\/)*([^/]+\.service)(?:\/|$)/

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
