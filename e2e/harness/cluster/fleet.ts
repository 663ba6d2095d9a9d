import { chmodSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, tempDir } from '@steeple/testkit'
import { runSvc, type Service, type StartOptions, startService } from '../service.ts'
import { ask, type Front } from './books.ts'
import { ownSchema } from './own-schema.ts'

const TOKEN = 'cluster-test-admin-token-0123456789abcdef'

/** Notes what is asked of the HSS, by whom and when, and never for whom. */
const NOTED = `#!/bin/bash
input=; words=
for word in "$@"; do case $word in -*) ;; *) words=$word; break;; esac; done
if [ "$words" = batch ]; then input=$(cat); words=$(sed -n 's/^\\["\\([a-z_]*\\)".*/\\1/p' <<< "$input"); fi
for word in $words; do echo "NAME $(date +%s%3N) $word" >> NOTES; done`

/** Who leads, as an instance says. */
interface Seen {
  readonly name: string
  readonly role: string
  readonly leader: string | null
  readonly epoch: number
}

/** A call by which an instance changes the HSS. */
interface HssCall {
  readonly instance: string
  readonly atMs: number
  readonly verb: string
}

/** Instances of the service on one store, with one set of keys. */
export interface Fleet extends AsyncDisposable {
  readonly token: string
  /** Starts an instance, or starts it anew on the data directory that it had. */
  start(name: string, options?: Pick<StartOptions, 'env' | 'flags'>): Promise<Service>
  of(name: string): Service
  /** Every instance, as somebody sees them who tries one after the other. */
  front(): Front
  /** What an instance says of who leads; undefined when it does not answer. */
  seen(name: string): Promise<Seen | undefined>
  /** Waits until one of `names` leads and says which. */
  leader(names: readonly string[], limitMs: number): Promise<string>
  /** When an instance began to lead the last time, after that, as its log says; ms since the epoch. */
  ledSinceMs(name: string, afterMs: number): Promise<number>
  /** Every call to the HSS so far. */
  hssCalls(): readonly HssCall[]
  end(): Promise<void>
}

/** What all instances of a fleet have. `store` gives the url of the store as an instance sees it. */
export interface FleetOptions {
  readonly dir: string
  readonly store: (name: string) => string
  readonly env: Readonly<Record<string, string>>
}

export async function createFleet({ dir, store, env }: FleetOptions): Promise<Fleet> {
  const running = new Map<string, Service>()
  let isOver = false
  const calls = join(dir, 'hss-calls')
  const first = join(dir, 'first')
  const init = await runSvc(['node', 'init', '--data-dir', first])
  assert.is(init.code, 0, init.stderr)

  /** The program that writes to the HSS, with a note of who has called it and when. */
  const notedProgram = (name: string): string => {
    const path = join(dir, `dbctl-${name}`)
    const noted = NOTED.replaceAll('NAME', name).replaceAll('NOTES', calls)
    writeFileSync(path, `${noted}\nexec ${process.execPath} ${env.SVC_HSS_DBCTL_PATH} "$@" <<< "$input"\n`)
    chmodSync(path, 0o755)
    return path
  }
  const fleet: Fleet = {
    token: TOKEN,
    start: async (name, options = {}) => {
      const dataDir = join(dir, name)
      if (!existsSync(dataDir)) {
        cpSync(first, dataDir, { recursive: true })
        chmodSync(join(dataDir, 'keys'), 0o700)
      }
      const service = await startService({
        dataDir,
        adminToken: TOKEN,
        ...(options.flags === undefined ? {} : { flags: options.flags }),
        env: {
          ...env,
          ...(env.SVC_HSS_DBCTL_PATH === undefined ? {} : { SVC_HSS_DBCTL_PATH: notedProgram(name) }),
          SVC_STORE_URL: store(name),
          SVC_CLUSTER_INSTANCE: name,
          SVC_CLUSTER_MACHINE: 'a',
          ...options.env,
        },
      })
      running.set(name, service)
      return service
    },
    of: (name) => {
      const service = running.get(name)
      if (service === undefined) throw new Error(`${name} was not started`)
      return service
    },
    front: () => ({ token: TOKEN, urls: () => (isOver ? [] : [...running.values()].map(({ url }) => url)) }),
    seen: async (name) => {
      const answer = await ask({ token: TOKEN }, fleet.of(name).url, 'GET', '/v1/status').catch(
        () => undefined,
      )
      return answer?.status === 200 ? (answer.body.instance as Seen) : undefined
    },
    leader: async (names, limitMs) => {
      let found = ''
      await eventually(async () => {
        for (const name of names) if ((await fleet.seen(name))?.role === 'leader') found = name
        return found !== ''
      }, limitMs)
      return found
    },
    ledSinceMs: async (name, afterMs) => {
      let ledMs = Number.NaN
      // Its answers may tell of it before its log does.
      await eventually(async () => {
        const lines = fleet.of(name).output().split('\n')
        const line = lines.findLast((one) => one.includes('"this instance leads"'))
        ledMs = line === undefined ? Number.NaN : Date.parse(JSON.parse(line).time)
        return ledMs >= afterMs
      })
      return ledMs
    },
    hssCalls: () =>
      (existsSync(calls) ? readFileSync(calls, 'utf8') : '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const [instance = '', at = '', verb = ''] = line.split(' ')
          return { instance, atMs: Number(at), verb }
        })
        .filter(({ verb }) => !/^(help|show|batch)/.test(verb)),
    [Symbol.asyncDispose]: () => fleet.end(),
    end: async () => {
      isOver = true
      for (const service of running.values()) {
        service.child.kill('SIGCONT')
        if (service.child.exitCode === null && service.child.signalCode === null) await service.kill()
      }
    },
  }
  return fleet
}

/** Two instances, `a` and `b`, on one PostgreSQL. */
export async function withTwo(work: (a: Service, b: Service) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  await using schema = await ownSchema()
  await using fleet = await createFleet({ dir: dir.path, store: () => schema.url, env: {} })
  await work(await fleet.start('a'), await fleet.start('b'))
}
