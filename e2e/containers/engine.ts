import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '@steeple/testkit'
import { runsWith } from '../harness/compatibility/runs.ts'
import { CGROUP_PARENT, IMAGE_FOLDER, machineFolder } from './own-machine.ts'

const run = promisify(execFile)
const IMAGE = 'steeple-test:bookworm-1'

/** A container to start. It shares the network of the test and has Node.js in its path. */
interface ContainerSpec {
  readonly name: string
  readonly command: readonly string[]
  /** Paths on this machine by path inside, all read-only. */
  readonly mounts?: Readonly<Record<string, string>>
  /** Folders that come before the system's in the path. */
  readonly path?: readonly string[]
}

/** How a container is. Times are ISO 8601 with nine digits. */
interface ContainerState {
  readonly isRunning: boolean
  readonly startedAt: string
  readonly exitCode: number
  /** Its first process, in the namespace of the test. */
  readonly pid: number
}

/** A podman with a store in memory that speaks the Docker API on a socket of its own. */
export interface Engine {
  readonly socket: string
  start(spec: ContainerSpec): Promise<void>
  /** Starts one that was stopped. */
  again(name: string): Promise<void>
  stop(name: string): Promise<void>
  remove(name: string): Promise<void>
  state(name: string): Promise<ContainerState>
  /** When each of these was started last, in their order. */
  starts(names: readonly string[]): Promise<readonly string[]>
  /** What it has printed since its last start and before, in order. */
  output(name: string): Promise<string>
  /** Any command of podman: what it printed. Rejects when it fails. */
  command(...args: readonly string[]): Promise<string>
  /** Takes the API away, the socket too; containers stay. */
  hide(): Promise<void>
  show(): Promise<void>
  /** Removes every container and ends the API. */
  close(): Promise<void>
}

/** Starts a podman in the folder of this machine. */
export async function startPodman(): Promise<Engine> {
  runsWith('podman', 'podman', '--version')
  const folder = machineFolder()
  const socket = join(folder, 'engine.sock')
  const env = { ...process.env, ...configure(folder) }
  let api: ChildProcess | undefined
  const podman = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run('podman', [...args], { env, maxBuffer: 64_000_000 })
    return stdout + (args[0] === 'logs' ? stderr : '')
  }
  const show = async (): Promise<void> => {
    rmSync(socket, { force: true })
    api = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], { env, stdio: 'ignore' })
    await eventually(() => accepts(socket))
  }
  const hide = async (): Promise<void> => {
    const ending = api
    api = undefined
    if (ending === undefined) return
    const gone = new Promise((resolve) => ending.on('close', resolve))
    ending.kill('SIGKILL')
    await gone
    rmSync(socket, { force: true })
  }
  await show()
  return {
    socket,
    start: async ({ name, command, mounts = {}, path = [] }) => {
      const folders = { '/opt/node': dirname(process.execPath), ...mounts }
      const volumes = Object.entries(folders).flatMap(([to, from]) => ['--volume', `${from}:${to}:ro`])
      const search = [...path, '/opt/node', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':')
      const own = ['--network=host', `--cgroup-parent=/${CGROUP_PARENT}`]
      const options = ['--detach', '--name', name, ...own, '--stop-timeout=2', '--env', `PATH=${search}`]
      await podman('run', ...options, ...volumes, IMAGE, ...command)
    },
    again: async (name) => void (await podman('start', name)),
    stop: async (name) => void (await podman('stop', name)),
    remove: async (name) => void (await podman('rm', '--force', '--time=0', name)),
    state: async (name) => {
      const [{ State }] = JSON.parse(await podman('container', 'inspect', name))
      const { Running, StartedAt, ExitCode, Pid } = State
      return { isRunning: Running, startedAt: StartedAt, exitCode: ExitCode, pid: Pid }
    },
    starts: async (names) => {
      const found: readonly { State: { StartedAt: string } }[] = JSON.parse(
        await podman('container', 'inspect', ...names),
      )
      return found.map(({ State }) => State.StartedAt)
    },
    output: (name) => podman('logs', name),
    command: podman,
    hide,
    show,
    close: async () => {
      await podman('rm', '--all', '--force', '--time=0')
      await hide()
    },
  }
}

/** Configuration files in `folder`, and the variables that name them: nothing of the machine's own is read or written. */
function configure(folder: string): Readonly<Record<string, string>> {
  const at = (name: string): string => JSON.stringify(join(folder, name))
  for (const name of ['store', 'run', 'tmp']) mkdirSync(join(folder, name))
  const containers = join(folder, 'containers.conf')
  const storage = join(folder, 'storage.conf')
  writeFileSync(
    containers,
    `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = ${at('tmp')}
[network]
network_config_dir = ${at('networks')}
`,
  )
  writeFileSync(
    storage,
    `[storage]
driver = "overlay"
graphroot = ${at('store')}
runroot = ${at('run')}
[storage.options]
additionalimagestores = [${JSON.stringify(join(IMAGE_FOLDER, 'store'))}]
`,
  )
  return { CONTAINERS_CONF: containers, CONTAINERS_STORAGE_CONF: storage }
}

function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    connection.on('connect', () => {
      connection.destroy()
      resolve(true)
    })
    connection.on('error', () => resolve(false))
  })
}
