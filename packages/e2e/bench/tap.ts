import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Finding } from './measure.ts'

const SCRIPT = fileURLToPath(new URL('../../collector-gtpu/scripts/bench.mjs', import.meta.url))
const IDLE_LIMIT = 0.5
/** Measured ceilings of a tap in C on an idle machine, and what is asked of ours: seconds of a processor for a million packets. */
const COSTS = { nft: { ceiling: 0.61, limit: 0.65 }, pcap: { ceiling: 0.53, limit: 0.85 } } as const

/** What the script says, which is ours. */
interface TapRuns {
  readonly bare: number
  readonly taps: readonly {
    readonly driver: 'nft' | 'pcap'
    readonly perSecond: number
    readonly isWhole: boolean
    readonly cpuSPerMillion: number
    readonly idleShare: number
  }[]
}

/** A million packets through each driver of the tap, as fast as tcpreplay sends them; every octet must be counted. */
export async function benchTap(): Promise<readonly Finding[]> {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--no-warnings', SCRIPT], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the tap could not be measured: ${stderr}`)
  const { bare, taps } = JSON.parse(stdout) as TapRuns
  return taps.flatMap(({ driver, perSecond, isWhole, cpuSPerMillion, idleShare }): readonly Finding[] => [
    {
      name: `tap ${driver}, every octet counted`,
      value: isWhole ? perSecond / 1_000 : 0,
      unit: 'kpps',
      beside: { what: 'tcpreplay without a tap', value: bare / 1_000 },
      target: '≥ 500 kpps or the generator’s limit, without loss',
      // It sends as fast as it can, in the time of the processor that also runs the rules or fills the buffer.
      isMet: isWhole,
    },
    {
      name: `tap ${driver}, processor time`,
      value: cpuSPerMillion,
      unit: 's/Mpkt',
      beside: { what: driver === 'nft' ? 'rules by hand' : 'libpcap in C', value: COSTS[driver].ceiling },
      target: `≤ ${COSTS[driver].limit} s/Mpkt`,
      isMet: cpuSPerMillion <= COSTS[driver].limit,
    },
    {
      name: `tap ${driver} with nothing on the interface`,
      value: idleShare,
      unit: '% of a core',
      target: `≤ ${IDLE_LIMIT} %`,
      isMet: idleShare <= IDLE_LIMIT,
    },
  ])
}
