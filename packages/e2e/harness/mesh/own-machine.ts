import { spawnSync } from 'node:child_process'

const MARK = 'STEEPLE_E2E_OWN_MACHINE'
/** Root keeps its rights; others are root in a user namespace of their own. */
const WAYS: readonly (readonly string[])[] = [['-nmp'], ['-rnmp']]
/** The shell stays as the first process: it takes in those whose parents have ended. */
const FIRST =
  'mount -t proc proc /proc && mount -t sysfs none /sys && mount -t tmpfs none /run && ip link set lo up && "$0" "$@"'

/**
 * Goes on with a network, mounts and processes of its own: what runs in it, daemons too, ends with this process, however that
 * ends, and no interface, rule or socket of it is seen outside. Runs the test file `file` again inside and ends this
 * process with its exit code.
 */
export function enterOwnMachine(file: string): void {
  if (process.env[MARK] !== undefined) return
  const flags = (way: readonly string[]): readonly string[] => [...way, '--fork', '--kill-child']
  const way = WAYS.find((one) => spawnSync('unshare', [...flags(one), 'true']).status === 0)
  if (way === undefined) throw new Error('unshare -nmp and unshare -rnmp are refused; run this test as root')
  const node = [process.execPath, ...process.execArgv, file]
  const { status } = spawnSync(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', ...flags(way), 'sh', '-c', `${FIRST}; exit $?`, ...node],
    { stdio: 'inherit', env: { ...process.env, [MARK]: way.join(' ') } },
  )
  process.exit(status ?? 1)
}
