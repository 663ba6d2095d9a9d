import { spawnSync } from 'node:child_process'

const MARK = 'STEEPLE_TEST_OWN_NETWORK'
/** Others than root are root in a user namespace of their own. */
const WAYS: readonly (readonly string[])[] = [['-n'], ['-rn']]
/** Without IPv6 of its own nothing but a test sends on these interfaces. */
const PREPARE = `
ip link set lo up
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add gtx0 type veth peer name grx0
ip link set gtx0 mtu 9500 up
ip link set grx0 mtu 9500 up
`

/** The interface that packets are sent on, and the one at its other end. */
export const SENDING = 'gtx0'
export const RECEIVING = 'grx0'

/**
 * Goes on in a network namespace of its own, which has `lo` and a pair of interfaces and is gone with its process: runs
 * the test file again inside and ends this process with its exit code. Throws when the system allows none.
 */
export function enterOwnNetwork(file: string): void {
  if (process.env[MARK] !== undefined) return
  const way = WAYS.find((flags) => spawnSync('unshare', [...flags, 'true']).status === 0)
  if (way === undefined) throw new Error('unshare -n and unshare -rn are refused; run this test as root')
  const again = [
    ...way,
    'sh',
    '-ec',
    `${PREPARE} exec "$@"`,
    'sh',
    process.execPath,
    ...process.execArgv,
    file,
  ]
  const { status } = spawnSync('unshare', again, {
    stdio: 'inherit',
    env: { ...process.env, [MARK]: 'yes' },
  })
  process.exit(status ?? 1)
}

/** Runs a program of the system to its end. Throws with its own words. */
export function run(file: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}
