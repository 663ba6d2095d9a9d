import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Finding, median } from './measure.ts'

/** Beside the interval: from what was counted to the phone's session gone from the core. */
const ALLOWED_MS = 2_000

/** From the first octet over the quota to "phone is gone", lab core, by rules of the kernel (nft). */
export async function benchCut(): Promise<readonly Finding[]> {
  const run = spawnSync(process.execPath, [join(import.meta.dirname, 'cut-run.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (run.status !== 0) throw new Error(`the run ended with ${run.status}`)
  const { intervalMs, times } = JSON.parse(run.stdout) as {
    readonly intervalMs: number
    readonly times: readonly number[]
  }
  const longest = Math.max(...times)
  return [
    {
      name: `first octet over quota to phone gone, interval ${intervalMs / 1000} s`,
      value: median([...times]),
      unit: 'ms',
      beside: { what: `the longest of ${times.length}`, value: longest },
      target: `≤ ${intervalMs + ALLOWED_MS} ms`,
      isMet: longest <= intervalMs + ALLOWED_MS,
    },
  ]
}
