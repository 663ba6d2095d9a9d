import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeBuild } from '../harness/builds/make-build.ts'
import { type Service, startService } from '../harness/service.ts'
import { cpuMs, type Finding, load, median } from './measure.ts'

/** `npm start` without a configuration knows no HSS. */
const ENV = { SVC_HSS_DRIVER: 'none' }
const ROUNDS = 7
const SECONDS = 4
const CONNECTIONS = 64
const SAME = 1.1
/** After that long without a request the collector has had its turns. */
const IDLE_MS = 10_000

interface Round {
  readonly startCpuMs: number
  readonly startMs: number
  readonly readCpuUs: number
  readonly residentMiB: number
}

/** Start, memory and a read of a build, beside those of `npm start`, in turns. */
export async function benchPackaged(): Promise<readonly Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  try {
    const { program } = await makeBuild(join(folder, 'build'), [])
    const rounds: { readonly built: Round; readonly plain: Round }[] = []
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({
        built: await once(join(folder, 'built-data'), round, program),
        plain: await once(join(folder, 'plain-data'), round),
      })
    const finding = (name: string, unit: string, pick: (round: Round) => number): Finding => {
      const value = median(rounds.map(({ built }) => pick(built)))
      const beside = median(rounds.map(({ plain }) => pick(plain)))
      return {
        name: `a build: ${name}`,
        value,
        unit,
        beside: { what: 'npm start', value: beside },
        target: `≤ ${Math.round(SAME * 100)} %`,
        isMet: value <= SAME * beside,
      }
    }
    return [
      finding('start to healthz', 'ms', ({ startMs }) => startMs),
      finding('processor time of a start', 'ms', ({ startCpuMs }) => startCpuMs),
      finding('resident memory, idle', 'MiB', ({ residentMiB }) => residentMiB),
      finding('processor time of a GET', 'µs', ({ readCpuUs }) => readCpuUs),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function once(dataDir: string, round: number, program?: string): Promise<Round> {
  const start = (): Promise<Service> =>
    startService({ dataDir, env: ENV, outputFile: `${dataDir}.log`, ...(program && { program }) })
  // The first start makes keys.
  if (round === 0) await (await start()).stop()
  const service = await start()
  try {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const { startMs, startCpuMs } = service
    const residentMiB = service.residentMiB()
    const pid = service.child.pid ?? 0
    const before = cpuMs(pid)
    const { total } = await load({
      url: `${service.url}/v1/nodes`,
      headers: { authorization: `Bearer ${service.adminToken}` },
      connections: CONNECTIONS,
      seconds: SECONDS,
    })
    return { startMs, startCpuMs, residentMiB, readCpuUs: (1000 * (cpuMs(pid) - before)) / total }
  } finally {
    await service.stop()
  }
}
