import { setTimeout as delay } from 'node:timers/promises'
import { startService } from '../harness/service.ts'
import { cpuMs, type Finding } from './measure.ts'
import { importSims, liftLimits, simsCsv } from './store-of-sims.ts'

const WAITING = 1_000
const SETTLE_MS = 20_000
const SAMPLE_MS = 30_000
const LIMIT_SHARE = 0.5

/** What the service takes while nobody asks anything: with no core in reach, and with SIMs that wait for an HSS. */
export async function benchIdle(): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const waiting of [0, WAITING]) {
    const service = await startService()
    try {
      await liftLimits(service)
      if (waiting > 0) await importSims(service, simsCsv(0, waiting, ['iccid']), waiting)
      await delay(SETTLE_MS)
      const before = cpuMs(service.child.pid ?? 0)
      await delay(SAMPLE_MS)
      const value = (100 * (cpuMs(service.child.pid ?? 0) - before)) / SAMPLE_MS
      findings.push({
        name: `idle without a core or HSS, ${waiting} SIMs waiting`,
        value,
        unit: '% of a core',
        target: `≤ ${LIMIT_SHARE} %`,
        isMet: value <= LIMIT_SHARE,
      })
    } finally {
      await service.stop()
    }
  }
  return findings
}
