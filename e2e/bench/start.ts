import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../harness/service.ts'
import { type Finding, median } from './measure.ts'

/** `npm start` without a configuration knows no HSS. */
const AS_NPM_START = { SVC_HSS_DRIVER: 'none' }
const ROUNDS = 7
const START_LIMIT_MS = 1_200
const MEMORY_LIMIT_MIB = 140
/** After that long without a request the collector has had its turns. */
const IDLE_MS = 10_000

/** Start to the first healthy answer on an existing data directory, and resident memory when idle. */
export async function benchStart(): Promise<readonly Finding[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  try {
    await (await startService({ dataDir, env: AS_NPM_START })).stop()
    const starts: number[] = []
    let service: Service | undefined
    for (let round = 0; round < ROUNDS; round++) {
      await service?.stop()
      service = await startService({ dataDir, env: AS_NPM_START })
      starts.push(service.startMs)
    }
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const resident = service?.residentMiB() ?? Number.NaN
    await service?.stop()
    const startMs = median(starts)
    return [
      {
        name: 'start to healthz',
        value: startMs,
        unit: 'ms',
        target: `≤ ${START_LIMIT_MS} ms`,
        isMet: startMs <= START_LIMIT_MS,
      },
      {
        name: 'resident memory, idle',
        value: resident,
        unit: 'MiB',
        target: `≤ ${MEMORY_LIMIT_MIB} MiB`,
        isMet: resident <= MEMORY_LIMIT_MIB,
      },
    ]
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
