import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { IMAGE_FOLDER, machineFolder } from './own-machine.ts'

/** How a command in the root ended. */
interface Ended {
  readonly code: number | null
  readonly said: string
}

/** A Debian with nothing but what is part of every one, in memory. */
export interface DebianRoot {
  /** Where it lies on this machine. */
  readonly folder: string
  /** Runs a command inside to its end, as root, with the path of a system alone. */
  run(...command: readonly string[]): Ended
  /** Starts a command inside as a user. */
  start(user: string, command: readonly string[], env: Readonly<Record<string, string>>): ChildProcess
  /** Copies a file of this machine to /root; gives its path inside. */
  bring(file: string): string
  read(path: string): string
  has(path: string): boolean
}

/** Where a system looks for programs. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Lays a layer in memory over the root of the containers' image. It is gone with the machine of the test. With `isBooting` the root has
 * systemd, nftables and curl, and nothing is mounted in it: who boots it does that.
 */
export function debianRoot({ isBooting = false }: { readonly isBooting?: boolean } = {}): DebianRoot {
  const folder = join(machineFolder(), 'debian')
  const [upper, work] = [join(machineFolder(), 'debian-upper'), join(machineFolder(), 'debian-work')]
  for (const one of [folder, upper, work]) mkdirSync(one)
  const lower = isBooting ? `${join(IMAGE_FOLDER, 'booting')}:${lowerFolder()}` : lowerFolder()
  const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`
  must('mount', '-t', 'overlay', 'overlay', '-o', layers, folder)
  for (const name of ['proc', 'dev', 'sys', 'run', 'tmp']) mkdirSync(join(folder, name), { recursive: true })
  if (!isBooting) {
    must('mount', '-t', 'proc', 'proc', join(folder, 'proc'))
    must('mount', '--bind', '/dev', join(folder, 'dev'))
  }
  return {
    folder,
    run: (...command) => {
      const { status, stdout, stderr } = spawnSync('chroot', [folder, ...command], {
        encoding: 'utf8',
        env: { PATH, LANG: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' },
      })
      return { code: status, said: stdout + stderr }
    },
    start: (user, command, env) =>
      spawn('chroot', [`--userspec=${user}`, folder, ...command], {
        env: { PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    bring: (file) => {
      copyFileSync(file, join(folder, 'root', basename(file)))
      return `/root/${basename(file)}`
    },
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    has: (path) => existsSync(join(folder, path)),
  }
}

/** The one layer of the image. */
function lowerFolder(): string {
  const layers = join(IMAGE_FOLDER, 'store/overlay')
  const found = readdirSync(layers)
    .map((name) => join(layers, name, 'diff'))
    .find((folder) => existsSync(join(folder, 'usr/bin/dpkg')))
  if (found === undefined) throw new Error(`no layer of ${layers} has dpkg`)
  return found
}

function must(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}
