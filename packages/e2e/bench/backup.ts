import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Service, until } from '../harness/service.ts'
import type { Finding } from './measure.ts'
import { simStores } from './store-of-sims.ts'

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
  const headers = {
    authorization: `Bearer ${service.adminToken}`,
    'x-backup-passphrase': randomBytes(16).toString('hex'),
  }
  try {
    await until(async () => (await service.request('GET', '/v1/health')).body.status !== undefined)
    const idleMs = await p99(service, () => false)
    const idleMiB = service.residentMiB()
    const resident = watchResident(service)
    let isOver = false
    const taken = take(service, headers).finally(() => {
      isOver = true
    })
    const busyMs = await p99(service, () => isOver)
    const { file, seconds } = await taken
    const takingMiB = resident.most()
    const restoreS = await restore(service, headers, file)
    const mib = resident.most()
    resident.end()
    process.stderr.write(`  resident: ${idleMiB} MiB idle, ${takingMiB} at most until it was taken\n`)
    process.stderr.write(`  p99 of a read: ${idleMs} ms idle, ${busyMs} ms meanwhile\n`)
    const name = `backup, ${SIMS} SIMs`
    return [
      finding(`${name}: take`, seconds, 's', BACKUP_LIMIT_S),
      finding(`${name}: restore until it is served`, restoreS, 's', RESTORE_LIMIT_S),
      finding(`${name}: most resident memory`, mib, 'MiB', RESIDENT_LIMIT_MIB),
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

async function take(
  service: Service,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly file: Uint8Array; readonly seconds: number }> {
  const from = performance.now()
  const response = await fetch(`${service.url}/v1/backup`, { headers })
  if (response.status !== 200) throw new Error(`no backup: ${response.status} ${await response.text()}`)
  const file = new Uint8Array(await response.arrayBuffer())
  return { file, seconds: (performance.now() - from) / 1_000 }
}

/** Seconds from the first octet sent to the first answer of the service that serves what was restored. */
async function restore(
  service: Service,
  headers: Readonly<Record<string, string>>,
  file: Uint8Array<ArrayBuffer> | Uint8Array,
): Promise<number> {
  const before = service.output().length
  const from = performance.now()
  const response = await fetch(`${service.url}/v1/restore`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/octet-stream' },
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

function watchResident(service: Service): { most(): number; end(): void } {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, service.residentMiB())
  }, 20)
  return {
    most: () => most,
    end: () => clearInterval(timer),
  }
}
