import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'

const MARK = 'STEEPLE_MESH_OWN_NETWORK'
/** Root keeps its rights; others are root in a user namespace of their own. */
const WAYS: readonly (readonly string[])[] = [['-n'], ['-rn']]
const FIRST = 'ip link set lo up && exec "$0" "$@"'

/**
 * Goes on in a network namespace of its own, where nothing but a loopback interface is; it is gone with the process.
 * Runs the test file `file` again inside and ends this process with its exit code.
 */
export function enterOwnNetwork(file: string): void {
  if (process.env[MARK] !== undefined) return
  const way = WAYS.find((flags) => spawnSync('unshare', [...flags, 'true']).status === 0)
  if (way === undefined) throw new Error('unshare -n and unshare -rn are refused; run this test as root')
  const node = [process.execPath, ...process.execArgv, file]
  const { status } = spawnSync(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', ...way, 'sh', '-c', FIRST, ...node],
    { stdio: 'inherit', env: { ...process.env, [MARK]: way.join(' ') } },
  )
  process.exit(status ?? 1)
}

/** Runs a command to its end and gives what it printed. Throws with what it complained of. */
export function run(file: string, ...args: readonly string[]): string {
  return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Another network namespace, with one leg in this one. */
export interface Neighbour {
  /** As `run`, inside of it. */
  run(file: string, ...args: readonly string[]): string
  /** Arguments that make a program run inside: `nsenter …`. */
  readonly inside: readonly string[]
  end(): void
}

/** Makes one: `here` is the end of the cable in this namespace, with the address `hereCidr`; its own is `e0`. */
export async function neighbour(here: string, hereCidr: string, thereCidr: string): Promise<Neighbour> {
  const holder = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', '-n', 'sh', '-c', 'echo up; exec sleep infinity'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await said(holder)
  const inside = ['nsenter', '-t', String(holder.pid), '-n']
  const runInside = (...command: readonly string[]): string => {
    const [file = '', ...args] = [...inside, ...command]
    return run(file, ...args)
  }
  run('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', 'e0', 'netns', String(holder.pid))
  run('ip', 'addr', 'add', hereCidr, 'dev', here)
  run('ip', 'link', 'set', here, 'up')
  runInside('ip', 'link', 'set', 'lo', 'up')
  runInside('ip', 'addr', 'add', thereCidr, 'dev', 'e0')
  runInside('ip', 'link', 'set', 'e0', 'up')
  return { run: runInside, inside, end: () => holder.kill('SIGKILL') }
}

function said(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('error', reject)
    child.once('close', () => reject(new Error('the namespace ended')))
  })
}
