import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import { type Ended, run } from '../harness/builds/make-build.ts'
import { type DebianRoot, debianRoot, PATH } from './debian-root.ts'
import { CGROUP_PARENT } from './own-machine.ts'

/**
 * What becomes the first process: in a control group, and namespaces, of its own it mounts what a kernel's boot would have
 * mounted, makes the root its own and hands over. `$1` is the root, `$2` the control group. The network is the test's.
 */
const BOOT = `
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for name in null zero full random urandom tty; do touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"; done
mkdir "$1/dev/pts" "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
mount -t tmpfs tmpfs "$1/dev/shm"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
cd "$1"
mkdir -p .before
pivot_root . .before
umount -l /.before
rmdir /.before
exec env -i container=steeple "PATH=$3" /sbin/init
`
const ENTER =
  'echo 0 > "$2/cgroup.procs"; exec unshare -m -p -C -u -i --fork --kill-child sh -ec "$0" boot "$@"'

/** A Debian that systemd has booted, in the network of the test. */
export interface BootedDebian extends Omit<DebianRoot, 'run' | 'start'> {
  /** Runs a command inside to its end, as root. */
  run(...command: readonly string[]): Promise<Ended>
  /** As `run`; throws what it said when it did not end with 0. */
  must(...command: readonly string[]): Promise<string>
  /** Starts a program inside, as root, with pipes. */
  start(command: readonly string[], env: Readonly<Record<string, string>>): ChildProcess
  /** Where a path of it is on this machine, with what it has mounted. */
  inside(path: `/${string}`): string
  /** Switches it off, as pulling the plug does. */
  off(): void
}

/** Boots it, and waits until systemd says that it runs. It ends with the machine of the test. */
export async function bootDebian(): Promise<BootedDebian> {
  const root = debianRoot({ isBooting: true })
  // There is no terminal to log in at.
  symlinkSync('/dev/null', join(root.folder, 'etc/systemd/system/console-getty.service'))
  const group = join(unifiedCgroups(), CGROUP_PARENT, `booted-${process.pid}`)
  mkdirSync(group, { recursive: true })
  const child = spawn('sh', ['-c', ENTER, BOOT, root.folder, group, PATH], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the machine ended with ${code}`)
  })
  // Later it is switched off, which is no error.
  ended.catch(() => undefined)
  const first = await Promise.race([firstProcess(child), ended])
  const inside = ['-t', first, '-m', '-p', '-C', '-u', '-i', 'env', '-i', `PATH=${PATH}`, 'LANG=C.UTF-8']
  const booted: BootedDebian = {
    ...root,
    run: (...command) => run('nsenter', [...inside, ...command], { PATH: process.env.PATH }),
    must: async (...command) => {
      const { code, said } = await booted.run(...command)
      if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${said}`)
      return said
    },
    start: (command, env) => {
      const own = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      return spawn('nsenter', [...inside, ...own, ...command], { stdio: 'pipe' })
    },
    inside: (path) => `/proc/${first}/root${path}`,
    off: () => child.kill('SIGKILL'),
  }
  await Promise.race([eventually(async () => (await isRunning(booted)) === 'running'), ended])
  return booted
}

async function isRunning(booted: BootedDebian): Promise<string> {
  return (await booted.run('systemctl', 'is-system-running')).said.trim()
}

/** The number of systemd as we see it: the only child of `unshare`. */
async function firstProcess({ pid }: ChildProcess): Promise<string> {
  let found = ''
  await eventually(async () => {
    found = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return /^\d+$/.test(found) && readFileSync(`/proc/${found}/comm`, 'utf8') === 'systemd\n'
  })
  return found
}

/** Where the hierarchy of control groups is that systemd wants, alone or beside older ones. */
function unifiedCgroups(): string {
  const line = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .find((one) => / cgroup2 /.test(one))
  const place = line?.split(' ')[1]
  if (place === undefined) throw new Error('this machine mounts no cgroup2')
  return place
}
