import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'

/** Where each server is; this side of the bridge is HUB. */
const HUB = '10.77.0.254'
const addressOf = (node: number): string => `10.77.0.${node}`
const NODES = [1, 2, 3] as const
/** Where HAProxy gives the primary, and the instances. */
export const DB_PORT = 5000
export const API_PORT = 8000
/** A former primary that was frozen has to rewind. */
const READY_MS = 300_000

/** Three PostgreSQL servers that Patroni keeps, each in a network namespace of its own, behind HAProxy. */
export interface Patroni {
  /** The present primary's number, as its own Patroni says; undefined while there is none. */
  primary(): Promise<number | undefined>
  /** Numbers of the synchronous standbys. */
  standbys(): Promise<readonly number[]>
  /** Until one is the primary, one its synchronous standby and one another replica. */
  whole(): Promise<unknown>
  /** Signals every process of a node. */
  signal(node: number, name: NodeJS.Signals): void
  /** Starts Patroni of a node again. */
  start(node: number): void
  /** Drops all that goes from one node to another, or to everything else. */
  cut(node: number, from: number | 'hub'): void
  mend(node: number, from: number | 'hub'): void
  /** Begins to stand in front of the instances at these ports of the loopback. */
  proxy(instances: ReadonlyMap<string, number>): void
  end(): void
}

const run = (command: string, ...args: readonly string[]): void => {
  execFileSync(command, args, { stdio: 'pipe' })
}

/** Call it in a network and mount namespace of its own, as root. */
export async function startPatroni(dir: string): Promise<Patroni> {
  makeNetwork()
  const children = new Map<string, ChildProcess>()
  const launch = (name: string, command: string, ...args: readonly string[]): void => {
    const log = openSync(join(dir, `${name}.log`), 'a')
    children.set(name, spawn(command, args, { stdio: ['ignore', log, log], detached: true }))
  }
  const idOf = (kind: string): number => Number(execFileSync('id', [kind, 'postgres']))
  const [uid, gid] = [idOf('-u'), idOf('-g')]
  chmodSync(dir, 0o755)
  mkdirSync(join(dir, 'etcd'))
  const client = `http://${HUB}:2379`
  launch(
    'etcd',
    'etcd',
    ...['--data-dir', join(dir, 'etcd'), '--listen-client-urls', client, '--advertise-client-urls', client],
    ...[
      '--listen-peer-urls',
      'http://127.0.0.1:2380',
      '--initial-advertise-peer-urls',
      'http://127.0.0.1:2380',
    ],
    ...['--initial-cluster', 'default=http://127.0.0.1:2380'],
  )
  for (const node of NODES) {
    const home = join(dir, `pg${node}`)
    mkdirSync(home)
    writeFileSync(join(dir, `pg${node}.yml`), settingsOf(node, home))
    chownSync(home, uid, gid)
  }
  const start = (node: number): void =>
    launch(
      `pg${node}`,
      'ip',
      ...['netns', 'exec', `n${node}`, 'setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'],
      ...['patroni', join(dir, `pg${node}.yml`)],
    )
  for (const node of NODES) start(node)
  writeFileSync(join(dir, 'db.cfg'), databaseProxy())
  launch('db-proxy', 'haproxy', '-f', join(dir, 'db.cfg'))

  const members = async (): Promise<
    readonly { readonly name: string; readonly role: string; readonly state: string }[]
  > => {
    for (const node of NODES) {
      const answer = await fetch(`http://${addressOf(node)}:8008/cluster`, {
        signal: AbortSignal.timeout(1_000),
      }).catch(() => undefined)
      if (answer?.ok === true) return ((await answer.json()) as { members: [] }).members
    }
    return []
  }
  const numberOf = ({ name }: { readonly name: string }): number => Number(name.replace('pg', ''))
  const patroni: Patroni = {
    primary: async () => {
      for (const node of NODES) {
        const answer = await fetch(`http://${addressOf(node)}:8008/primary`, {
          signal: AbortSignal.timeout(1_000),
        }).catch(() => undefined)
        await answer?.body?.cancel()
        if (answer?.status === 200) return node
      }
      return undefined
    },
    standbys: async () => (await members()).filter(({ role }) => role === 'sync_standby').map(numberOf),
    whole: () =>
      eventually(async () => {
        const all = await members()
        const roles = all.map(({ role }) => role).sort()
        const isUp = all.every(({ state }) => state === 'running' || state === 'streaming')
        return isUp && roles.join(' ') === 'leader replica sync_standby'
      }, READY_MS),
    signal: (node, name) => {
      for (const pid of processesIn(node)) send(pid, name)
    },
    start,
    cut: (node, from) => run('ip', '-n', `n${node}`, 'route', 'add', 'blackhole', targetOf(from)),
    mend: (node, from) => run('ip', '-n', `n${node}`, 'route', 'del', 'blackhole', targetOf(from)),
    proxy: (instances) => {
      writeFileSync(join(dir, 'api.cfg'), instanceProxy(instances))
      launch('api-proxy', 'haproxy', '-f', join(dir, 'api.cfg'))
    },
    end: () => {
      for (const node of NODES) for (const pid of processesIn(node)) send(pid, 'SIGKILL')
      for (const child of children.values()) if (child.exitCode === null) child.kill('SIGKILL')
    },
  }
  await patroni.whole()
  return patroni
}

const targetOf = (from: number | 'hub'): string => `${from === 'hub' ? HUB : addressOf(from)}/32`

function makeNetwork(): void {
  run('ip', 'link', 'set', 'lo', 'up')
  mkdirSync('/var/run/netns', { recursive: true })
  run('mount', '-t', 'tmpfs', 'none', '/var/run/netns')
  run('ip', 'link', 'add', 'br0', 'type', 'bridge')
  run('ip', 'addr', 'add', `${HUB}/24`, 'dev', 'br0')
  run('ip', 'link', 'set', 'br0', 'up')
  for (const node of NODES) {
    run('ip', 'netns', 'add', `n${node}`)
    run('ip', 'link', 'add', `v${node}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `n${node}`)
    run('ip', 'link', 'set', `v${node}`, 'master', 'br0', 'up')
    run('ip', '-n', `n${node}`, 'addr', 'add', `${addressOf(node)}/24`, 'dev', 'eth0')
    run('ip', '-n', `n${node}`, 'link', 'set', 'eth0', 'up')
    run('ip', '-n', `n${node}`, 'link', 'set', 'lo', 'up')
  }
}

/** One that has ended since it was listed has got what it was to get. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ESRCH') throw error
  }
}

/** Every process in the network namespace of a node. */
function processesIn(node: number): readonly number[] {
  return execFileSync('ip', ['netns', 'pids', `n${node}`])
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
}

function binaries(): string {
  const versions = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(a) - Number(b))
  return `/usr/lib/postgresql/${versions.at(-1)}/bin`
}

function settingsOf(node: number, home: string): string {
  const address = addressOf(node)
  return JSON.stringify({
    scope: 'svc',
    namespace: '/svc/',
    name: `pg${node}`,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    etcd3: { host: `${HUB}:2379` },
    bootstrap: {
      dcs: {
        ttl: 10,
        loop_wait: 2,
        retry_timeout: 4,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 200,
            wal_level: 'replica',
            wal_log_hints: 'on',
            wal_sender_timeout: '5s',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
      pg_hba: [
        'local all all trust',
        'host replication all 10.77.0.0/24 trust',
        'host all all 10.77.0.0/24 trust',
      ],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: binaries(),
      pgpass: join(home, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: 'none' },
        replication: { username: 'replicator', password: 'none' },
      },
      parameters: { unix_socket_directories: home },
    },
  })
}

const DEFAULTS = `global
  maxconn 1000
defaults
  timeout connect 2s
  timeout client 60s
  timeout server 60s
`

function databaseProxy(): string {
  const servers = NODES.map((node) => `  server pg${node} ${addressOf(node)}:5432 check port 8008`).join('\n')
  return `${DEFAULTS}listen primary
  bind 127.0.0.1:${DB_PORT}
  mode tcp
  option httpchk OPTIONS /primary
  http-check expect status 200
  timeout check 1s
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers}
`
}

function instanceProxy(instances: ReadonlyMap<string, number>): string {
  const servers = [...instances].map(([name, port]) => `  server ${name} 127.0.0.1:${port} check`).join('\n')
  return `${DEFAULTS}listen instances
  bind 127.0.0.1:${API_PORT}
  mode http
  balance roundrobin
  option httpchk GET /v1/healthz
  option redispatch
  timeout check 1s
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers}
`
}

/** Whether what this needs is installed, and this is root; what is missing otherwise. */
export function missingForPatroni(): string | undefined {
  if (process.getuid?.() !== 0) return 'root'
  for (const program of ['patroni', 'etcd', 'haproxy', 'ip', 'unshare', 'setpriv'])
    try {
      execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    } catch {
      return program
    }
  return undefined
}
