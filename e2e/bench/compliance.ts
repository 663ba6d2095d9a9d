import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fillMoves } from '../harness/recorded-moves.ts'
import { type Service, startService } from '../harness/service.ts'
import { cpuMs, type Finding } from './measure.ts'
import { WITHOUT_HSS } from './store-of-sims.ts'

const ROWS = 1_000_000
const LIMIT_S = 20
const GROWTH_LIMIT_MIB = 64

/** The regulator's file of a million moves, and what the service holds meanwhile. */
export async function benchCompliance(): Promise<readonly Finding[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-bench-compliance-'))
  try {
    const first = await startService({ ...WITHOUT_HSS, dataDir })
    await first.stop()
    fillMoves(join(dataDir, 'svc.db'), ROWS)
    const service = await startService({ ...WITHOUT_HSS, dataDir })
    try {
      // Once, so that what any answer needs is there.
      await take(service, 'policy')
      const before = service.residentMiB()
      const cpuBefore = cpuMs(service.child.pid ?? 0)
      let most = before
      const timer = setInterval(() => {
        most = Math.max(most, service.residentMiB())
      }, 100)
      const { seconds, lines } = await take(service, 'sim')
      clearInterval(timer)
      const cpuS = (cpuMs(service.child.pid ?? 0) - cpuBefore) / 1_000
      if (lines < ROWS) throw new Error(`the file has ${lines} lines`)
      process.stderr.write(`  resident: ${before} MiB before, ${most} at most; processor: ${cpuS} s\n`)
      return [
        {
          name: `regulator's file, ${ROWS} rows`,
          value: seconds,
          unit: 's',
          target: `≤ ${LIMIT_S} s`,
          isMet: seconds <= LIMIT_S,
        },
        {
          name: `regulator's file, ${ROWS} rows: more resident memory`,
          value: most - before,
          unit: 'MiB',
          target: `≤ ${GROWTH_LIMIT_MIB} MiB`,
          isMet: most - before <= GROWTH_LIMIT_MIB,
        },
      ]
    } finally {
      await service.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function take(
  service: Service,
  kind: string,
): Promise<{ readonly seconds: number; readonly lines: number }> {
  const from = performance.now()
  const response = await fetch(`${service.url}/v1/compliance/export?kinds=${kind}`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  if (response.status !== 200 || response.body === null) throw new Error(`no file: ${response.status}`)
  let lines = 0
  for await (const chunk of response.body) for (const octet of chunk) if (octet === 0x0a) lines += 1
  return { seconds: (performance.now() - from) / 1_000, lines }
}
