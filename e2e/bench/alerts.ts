import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startService } from '../harness/service.ts'
import { cpuMs, type Finding } from './measure.ts'
import { simStores, WITHOUT_HSS } from './store-of-sims.ts'

const SIMS = 100_000
const RULES = 200
const SETTLE_MS = 30_000
const SAMPLE_MS = 60_000
const LIMIT_SHARE = 1
/** Some of each kind of metric that changes while nobody asks anything. */
const METRICS = [
  'svc_sim_state',
  'svc_sims_unsynced',
  'process_resident_memory_bytes',
  'nodejs_eventloop_utilization_ratio',
  'process_cpu_seconds_total',
  'svc_reconcile_total',
  'svc_reconcile_duration_seconds',
  'svc_http_request_duration_seconds',
]

/** What looking at rules takes while nobody asks anything: the share of a core beside that of the same service without. */
export async function benchAlerts(): Promise<readonly Finding[]> {
  const stores = simStores()
  const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-alerts-'))
  try {
    const without = await shareOf(await stores.folder(SIMS), join(folder, 'off'), false)
    const having = await shareOf(await stores.folder(SIMS), join(folder, 'on'), true)
    const value = Math.max(0, having - without)
    const what = 'all of the service without'
    return [
      {
        name: `alerts, ${RULES} rules, ${SIMS} SIMs`,
        value,
        unit: '% of a core',
        beside: { what, value: without },
        target: `≤ ${LIMIT_SHARE} %`,
        isMet: value <= LIMIT_SHARE,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
    stores.remove()
  }
}

async function shareOf(store: string, dataDir: string, isEnabled: boolean): Promise<number> {
  execFileSync('cp', ['-a', `${store}/.`, dataDir])
  const config = `${dataDir}.yaml`
  const rules = Array.from({ length: RULES }, (_, index) => ({
    name: `r${index}`,
    metric: METRICS[index % METRICS.length],
    op: '>',
    // Half of them fire for good.
    threshold: index % 2 === 0 ? -1 : 1e15,
    for: '5s',
    severity: 'info',
  }))
  writeFileSync(config, JSON.stringify({ alerts: { enabled: isEnabled, rules } }))
  const service = await startService({ ...WITHOUT_HSS, dataDir, flags: ['--config', config] })
  try {
    await delay(SETTLE_MS)
    const before = cpuMs(service.child.pid ?? 0)
    await delay(SAMPLE_MS)
    return (100 * (cpuMs(service.child.pid ?? 0) - before)) / SAMPLE_MS
  } finally {
    await service.stop()
  }
}
