import { spawnSync } from 'node:child_process'

const MARK = 'STEEPLE_E2E_OWN_NETWORK'
/** Root keeps its rights; others are root in a user namespace of their own. */
const WAYS: readonly (readonly string[])[] = [['-n'], ['-rn']]
const FIRST = 'ip link set lo up && exec "$0" "$@"'

/**
 * Goes on in a network namespace of its own, where nothing but a loopback interface is: fixed addresses are free, rules of
 * the kernel touch nobody, and all of it is gone with the process, however that ends. Runs the test file `file` again inside
 * and ends this process with its exit code.
 *
 * Throws when the system allows no network namespace.
 */
export function enterOwnNetwork(file: string): void {
  if (process.env[MARK] !== undefined) return
  const way = WAYS.find((flags) => spawnSync('unshare', [...flags, 'true']).status === 0)
  if (way === undefined) throw new Error('unshare -n and unshare -rn are refused; run this test as root')
  const node = [process.execPath, ...process.execArgv, file]
  const { status } = spawnSync(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', ...way, 'sh', '-c', FIRST, ...node],
    {
      stdio: 'inherit',
      env: { ...process.env, [MARK]: way.join(' ') },
    },
  )
  process.exit(status ?? 1)
}
