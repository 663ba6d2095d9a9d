import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Service, until } from '../harness/service.ts'
import type { Finding } from './measure.ts'
import { simStores } from './store-of-sims.ts'

const CLIENT = fileURLToPath(new URL('backup-client.ts', import.meta.url))

const SIMS = 100_000
const BACKUP_LIMIT_S = 10
const RESTORE_LIMIT_S = 20
const RESIDENT_LIMIT_MIB = 150
const SLOWER_LIMIT = 2
const SAMPLES = 2_000
const PAUSE_MS = 3

/** A backup of many SIMs under a passphrase, and its restore, until the service serves it. */
export async function benchBackup(): Promise<readonly Finding[]> {
  const stores = simStores()
  const service = await stores.service(SIMS)
  const passphrase = randomBytes(16).toString('hex')
  const place = join(service.dataDir, '..', 'backup.enc')
  try {
    await until(async () => (await service.request('GET', '/v1/health')).body.status !== undefined)
    const client = await clientOf(service, passphrase, place)
    const idleMs = await p99(service, () => false)
    const idleMiB = service.residentMiB()
    const taking = watchResident(service)
    let isOver = false
    const taken = take(client).finally(() => {
      isOver = true
    })
    const busyMs = await p99(service, () => isOver)
    const seconds = await taken
    const took = taking.end()
    const file = await readFile(place)
    const bringing = watchResident(service)
    const restoreS = await restore(service, passphrase, file)
    const brought = bringing.end()
    process.stderr.write(`  resident, MiB: the service ${idleMiB.toFixed()} idle\n`)
    for (const [what, most] of Object.entries({ backup: took, restore: brought }))
      process.stderr.write(
        `    ${what}: the service ${most.service.toFixed()}, its processes ${most.processes.toFixed()}, together ` +
          `${most.together.toFixed()} at most\n`,
      )
    process.stderr.write(`  p99 of a read: ${idleMs} ms idle, ${busyMs} ms meanwhile\n`)
    process.stderr.write(`  load: ${loadavg()[0]}\n`)
    const added = Math.max(took.together, brought.together) - idleMiB
    const name = `backup, ${SIMS} SIMs`
    return [
      finding(`${name}: take`, seconds, 's', BACKUP_LIMIT_S),
      finding(`${name}: restore until it is served`, restoreS, 's', RESTORE_LIMIT_S),
      finding(`${name}: most resident memory added`, added, 'MiB', RESIDENT_LIMIT_MIB),
      finding(`${name}: p99 of a read meanwhile, times idle`, busyMs / idleMs, '', SLOWER_LIMIT),
    ]
  } finally {
    await service.stop()
    stores.remove()
  }
}

function finding(name: string, value: number, unit: string, limit: number): Finding {
  return { name, value, unit, target: `≤ ${limit} ${unit}`.trim(), isMet: value <= limit }
}

/**
 * Who takes the backup, ready to. In a process of its own: what it collects of garbage would delay the reads of this one,
 * which is not the service's doing.
 */
async function clientOf(service: Service, passphrase: string, place: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [CLIENT, service.url, place], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_TOKEN: service.adminToken, BENCH_PASSPHRASE: passphrase },
  })
  if (child.stdout === null) throw new Error('no client')
  await once(child.stdout, 'data')
  return child
}

/** How long the client took, seconds. */
async function take({ stdin, stdout }: ChildProcess): Promise<number> {
  if (stdin === null || stdout === null) throw new Error('no client')
  stdin.end('now\n')
  const { seconds } = JSON.parse(await text(stdout)) as { readonly seconds: number } // `backup-client.ts` wrote it
  return seconds
}

/** Seconds from the first octet sent to the first answer of the service that serves what was restored. */
async function restore(service: Service, passphrase: string, file: Uint8Array): Promise<number> {
  const before = service.output().length
  const from = performance.now()
  const response = await fetch(`${service.url}/v1/restore`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.adminToken}`,
      'x-backup-passphrase': passphrase,
      'content-type': 'application/octet-stream',
    },
    body: new Uint8Array(file),
  })
  if (response.status !== 200) throw new Error(`not restored: ${response.status} ${await response.text()}`)
  await until(async () => {
    const url = /"url":"(http[^"]+)"/.exec(service.output().slice(before))?.[1]
    return url !== undefined && (await fetch(`${url}/v1/healthz`)).status === 200
  })
  return (performance.now() - from) / 1_000
}

/** The 99th percentile of a read, ms: of so many, or of those until it is over. */
async function p99(service: Service, isOver: () => boolean): Promise<number> {
  const times: number[] = []
  while (times.length < SAMPLES && !isOver()) {
    const from = performance.now()
    await service.request('GET', '/v1/sims?limit=1')
    times.push(performance.now() - from)
    await delay(PAUSE_MS)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

/** The most resident memory at one moment, MiB: of the service, of the processes that it started meanwhile, of all of them. */
interface Resident {
  readonly service: number
  readonly processes: number
  readonly together: number
}

function watchResident(service: Service): { end(): Resident } {
  let most: Resident = { service: 0, processes: 0, together: 0 }
  const timer = setInterval(() => {
    const own = service.residentMiB()
    const theirs = childrenOf(service)
      .filter((pid) => !isStoreCheck(pid))
      .reduce((sum, pid) => sum + residentMiB(pid), 0)
    most = {
      service: Math.max(most.service, own),
      processes: Math.max(most.processes, theirs),
      together: Math.max(most.together, own + theirs),
    }
  }, 10)
  return {
    end: () => {
      clearInterval(timer)
      return most
    },
  }
}

function childrenOf({ child: { pid } }: Service): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  )
}

/** What follows each start, whatever else is done. */
function isStoreCheck(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`).includes('integrity_check')
}

/** Of a process that may have ended. */
function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
