import { spawnSync } from 'node:child_process'

const MARK = 'STEEPLE_E2E_OWN_MOUNTS'
/** Root keeps its rights over loop devices; others are root in a user namespace of their own. */
const WAYS: readonly (readonly string[])[] = [['-m'], ['-rm']]

/**
 * Goes on in a mount namespace of its own: what a test mounts is seen by nobody else and is gone with its process,
 * however it ends. Runs the test file `file` again inside and ends this process with its exit code.
 *
 * Throws when the system allows no mount namespace.
 */
export function enterOwnMounts(file: string): void {
  if (process.env[MARK] !== undefined) return
  const way = WAYS.find(
    (flags) => spawnSync('unshare', [...flags, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0,
  )
  if (way === undefined) throw new Error('unshare -m and unshare -rm are refused; run this test as root')
  const { status } = spawnSync('unshare', [...way, process.execPath, ...process.execArgv, file], {
    stdio: 'inherit',
    env: { ...process.env, [MARK]: way.join(' ') },
  })
  process.exit(status ?? 1)
}

/** Whether mounts need no user namespace: block devices can be mounted. */
export function hasBlockMounts(): boolean {
  return process.env[MARK] === '-m'
}
