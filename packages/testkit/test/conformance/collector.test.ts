import type { Collector, ImsiHash, UsageSample } from '@steeple/contracts'
import { collectorConformance } from '../../src/index.ts'

for (const kind of ['total', 'delta'] as const) {
  collectorConformance(`a ${kind} source in memory`, async () => {
    let run = 1
    const seen = { upBytes: 0, downBytes: 0 }
    const sample = (): UsageSample => ({
      imsi: '0123456789ab' as ImsiHash,
      apn: 'internet',
      session: `run-${run}`,
      ...seen,
      atMs: 1_767_225_600_000,
      kind,
    })
    const open = (): Collector => ({
      source: 'memory',
      poll: async (signal) => {
        signal.throwIfAborted()
        if (seen.upBytes + seen.downBytes === 0) return []
        const samples = [sample()]
        if (kind === 'delta') Object.assign(seen, { upBytes: 0, downBytes: 0 })
        return samples
      },
    })
    return {
      collector: open(),
      traffic: async (upBytes, downBytes) => {
        seen.upBytes += upBytes
        seen.downBytes += downBytes
      },
      restartCore: async () => {
        run += 1
        Object.assign(seen, { upBytes: 0, downBytes: 0 })
      },
      reopen: async () => open(),
      world: async () => String(run),
      close: async () => undefined,
    }
  })
}
