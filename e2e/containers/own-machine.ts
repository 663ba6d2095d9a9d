import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const MARK = 'STEEPLE_E2E_OWN_MACHINE'
const MADE = 'STEEPLE_E2E_MADE_OUTSIDE'
const CACHE = join(homedir(), '.cache', 'steeple-test')
/** Where each run mounts a folder in memory that it alone sees. */
const FOLDER = join(CACHE, 'own-machine')
const CGROUPS = '/sys/fs/cgroup'
const PROGRAMS = ['podman', 'runc', 'ip', 'setpriv', 'unshare', 'java'] as const
/** The first process of the namespaces: it collects orphans, which a test does not. */
const FIRST = 'ip link set lo up && mount -t tmpfs tmpfs "$0" && "$@"; exit $?'

/** The parent of the control groups of containers, in each hierarchy. */
export const CGROUP_PARENT = 'steeple-test'

/** The folder with the image that `make-image.sh` made. */
export const IMAGE_FOLDER: string = join(CACHE, 'container-image-bookworm-1')

/** The folders of what `get-test-mongo.sh` put into the cache. */
export const PARTS: { readonly server: string; readonly shell: string } = {
  server: join(CACHE, 'mongo-java-server-1.47.0'),
  shell: join(CACHE, 'mongosh-2.12.0'),
}

/**
 * Goes on in namespaces of its own for processes, mounts and the network, with a folder in memory: containers that a test
 * starts see a loopback that is theirs alone (so fixed ports are free), and all of it is gone with the test, however it
 * ends. Runs the test file `file` again inside and ends this process with its exit code.
 *
 * Without what containers need, it ends the file with "needs …"; in CI that is an error.
 */
export function enterOwnMachine(file: string): void {
  if (process.env[MARK] !== undefined) return
  const missing = missingPart()
  if (missing !== undefined) {
    if (process.env.CI === 'true') throw new Error(`containers need ${missing}`)
    process.stdout.write(`needs podman (${missing})\n`)
    process.exit(0)
  }
  mkdirSync(FOLDER, { recursive: true })
  const inside = ['unshare', '-n', '-m', '-p', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', FIRST]
  const command = [...inside, FOLDER, process.execPath, ...process.execArgv, file]
  const { status } = spawnSync('setpriv', ['--pdeathsig', 'KILL', ...command], {
    stdio: 'inherit',
    env: { ...process.env, [MARK]: FOLDER },
  })
  sweepCgroups()
  process.exit(status ?? 1)
}

/**
 * A folder that `make` fills before the machine is entered, where the network of this machine is still there. Inside it gives
 * the same folder; it is removed at the end, however that comes.
 */
export async function madeOutside(make: (folder: string) => Promise<void>): Promise<string> {
  const made = process.env[MADE]
  if (process.env[MARK] !== undefined && made !== undefined) return made
  const folder = mkdtempSync(join(tmpdir(), 'steeple-outside-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env[MADE] = folder
  await make(folder)
  return folder
}

/** The folder in memory of this machine. */
export function machineFolder(): string {
  const folder = process.env[MARK]
  if (folder === undefined) throw new Error('enterOwnMachine comes first')
  return folder
}

function missingPart(): string | undefined {
  if (process.getuid?.() !== 0) return 'root'
  const program = PROGRAMS.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  if (program !== undefined) return program
  const isReady = (folder: string, last = 'ready'): boolean => existsSync(join(folder, last))
  if (!isReady(PARTS.server, 'classes/TestMongo.class') || !isReady(PARTS.shell))
    return 'packages/driver-hss/scripts/get-test-mongo.sh'
  return isReady(IMAGE_FOLDER) ? undefined : 'e2e/containers/make-image.sh'
}

/** Removes control groups that no process is in: of this run, and of runs that were killed. */
function sweepCgroups(): void {
  // One hierarchy of its own for each controller, or one for all.
  for (const hierarchy of ['', ...subfolders(CGROUPS)]) {
    const parent = join(CGROUPS, hierarchy, CGROUP_PARENT)
    removeEmpty(parent)
  }
}

function subfolders(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

/** Those below it first, as deep as they go. */
function removeEmpty(group: string): void {
  for (const name of subfolders(group)) removeEmpty(join(group, name))
  try {
    rmdirSync(group)
  } catch {
    // in use by another run, or not there
  }
}
