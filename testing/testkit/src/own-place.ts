import { execFileSync, spawnSync } from 'node:child_process'

/** A kind of place that a test goes on in. */
interface Kind {
  /** Environment variable that says that this process is there. */
  readonly mark: string
  /** Namespaces, as flags of `unshare`. */
  readonly flags: string
  readonly more?: readonly string[]
  /** Must work in the place, or it is none. */
  readonly trial?: readonly string[]
  /** Shell commands before the test. */
  readonly prepare?: string
}

const LOOPBACK = 'ip link set lo up'
const NETWORK: Kind = { mark: 'STEEPLE_TEST_OWN_NETWORK', flags: 'n' }
const MACHINE: Kind = {
  mark: 'STEEPLE_TEST_OWN_MACHINE',
  flags: 'nmp',
  more: ['--fork', '--kill-child'],
  prepare: `mount -t proc proc /proc; mount -t sysfs none /sys; mount -t tmpfs none /run; ${LOOPBACK}`,
}
const MOUNTS: Kind = {
  mark: 'STEEPLE_TEST_OWN_MOUNTS',
  flags: 'm',
  trial: ['mount', '-t', 'tmpfs', 'none', '/mnt'],
}

/**
 * Goes on in a network namespace of its own, where nothing but a loopback interface is: fixed addresses are free, rules of
 * the kernel touch nobody, and all of it is gone with the process, however that ends. Runs the test file `file` again inside,
 * after the shell commands `prepare`, and ends this process with its exit code.
 *
 * Throws when the system allows no network namespace.
 */
export function enterOwnNetwork(file: string, prepare = ''): void {
  enter({ ...NETWORK, prepare: `${LOOPBACK}\n${prepare}` }, file)
}

/**
 * Goes on with a network, mounts and processes of its own: what runs in it, daemons too, ends with this process, however that
 * ends, and no interface, rule or socket of it is seen outside. Otherwise as `enterOwnNetwork`.
 */
export function enterOwnMachine(file: string): void {
  enter(MACHINE, file)
}

/** Goes on in a mount namespace of its own: what a test mounts is seen by nobody else. Otherwise as `enterOwnNetwork`. */
export function enterOwnMounts(file: string): void {
  enter(MOUNTS, file)
}

/** Whether mounts need no user namespace: block devices can be mounted. After `enterOwnMounts`. */
export function hasBlockMounts(): boolean {
  return process.env[MOUNTS.mark] === `-${MOUNTS.flags}`
}

/** Runs a program of the system to its end and gives what it printed. Throws with what it complained of. */
export function runTool(file: string, ...args: readonly string[]): string {
  return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function enter({ mark, flags, more = [], trial = ['true'], prepare = '' }: Kind, file: string): void {
  if (process.env[mark] !== undefined) return
  // Root keeps its rights; others are root in a user namespace of their own.
  const ways = [`-${flags}`, `-r${flags}`]
  const way = ways.find((one) => spawnSync('unshare', [one, ...more, ...trial]).status === 0)
  if (way === undefined)
    throw new Error(`unshare ${ways.join(' and unshare ')} are refused; run this test as root`)
  // With processes of its own the shell stays as the first one: it takes in those whose parents have ended.
  const script = `set -e\n${prepare}\nset +e\n${more.length > 0 ? '"$0" "$@"; exit $?' : 'exec "$0" "$@"'}`
  const test = ['sh', '-c', script, process.execPath, ...process.execArgv, file]
  const { status } = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'unshare', way, ...more, ...test], {
    stdio: 'inherit',
    env: { ...process.env, [mark]: way },
  })
  process.exit(status ?? 1)
}
