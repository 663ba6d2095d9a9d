import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Finding } from './measure.ts'

const SCRIPT = fileURLToPath(new URL('../../packages/collector-gtpu/scripts/bench.mjs', import.meta.url))
const IDLE_LIMIT = 0.5
/**
 * What is asked of each driver, seconds of a processor for a million packets, beside its ceiling on the machine on which both were set. On
 * another the share decides: ours and the ceiling are measured by turns in one run.
 */
const COSTS = {
  nft: { ceiling: 'byHand', what: 'rules by hand', ceilingThere: 0.61, limitThere: 0.65 },
  pcap: { ceiling: 'inC', what: 'libpcap in C', ceilingThere: 0.53, limitThere: 0.85 },
} as const

/** What one that counts has cost, as the script says. */
interface Run {
  readonly perSecond: number
  readonly isWhole: boolean
  readonly cost: number
  readonly parts: Readonly<Record<'kernel' | 'user' | 'system', number>>
  readonly idleShare?: number
}

/** What the script says, which is ours. */
interface TapRuns {
  readonly load: number
  readonly missing: readonly string[]
  readonly own: { readonly perSecond: number; readonly cost: number }
  readonly byHand: Run
  readonly nft: Run
  readonly inC?: Run
  readonly pcap?: Run
}

/** A million packets a turn through each driver of the tap, as fast as tcpreplay sends them; every octet must be counted. */
export async function benchTap(): Promise<readonly Finding[]> {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--no-warnings', SCRIPT], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the tap could not be measured: ${stderr}`)
  const runs = JSON.parse(stdout) as TapRuns
  for (const words of runs.missing) process.stderr.write(`${words}\n`)
  const own = told(
    `what tcpreplay itself takes to send them (load ${runs.load.toFixed(1)})`,
    runs.own.cost,
    's/Mpkt',
  )
  return [own, ...(['nft', 'pcap'] as const).flatMap((driver) => findingsOf(driver, runs))]
}

function findingsOf(driver: 'nft' | 'pcap', runs: TapRuns): readonly Finding[] {
  const run = runs[driver]
  if (run === undefined) return []
  const { ceiling, what, ceilingThere, limitThere } = COSTS[driver]
  const beside = runs[ceiling]
  const { perSecond, isWhole, cost, idleShare = Number.NaN } = run
  const most = limitThere / ceilingThere
  return [
    {
      name: `tap ${driver}, every octet counted`,
      value: isWhole ? perSecond / 1_000 : 0,
      unit: 'kpps',
      beside: { what: 'tcpreplay without a tap', value: runs.own.perSecond / 1_000 },
      target: '≥ 500 kpps or the generator’s limit, without loss',
      // It sends as fast as it can, in the time of the processor that also runs the rules or fills the buffer.
      isMet: isWhole,
    },
    {
      name: `tap ${driver}, processor time`,
      value: cost,
      unit: 's/Mpkt',
      ...(beside === undefined ? {} : { beside: { what, value: beside.cost } }),
      target: `≤ ${Math.round(100 * most)} % of ${what} (${limitThere} beside ${ceilingThere} s/Mpkt)`,
      isMet: cost <= (beside === undefined ? limitThere : most * beside.cost),
    },
    ...partsOf(`tap ${driver}`, run),
    ...(beside === undefined ? [] : partsOf(what, beside)),
    {
      name: `tap ${driver} with nothing on the interface`,
      value: idleShare,
      unit: '% of a core',
      target: `≤ ${IDLE_LIMIT} %`,
      isMet: idleShare <= IDLE_LIMIT,
    },
  ]
}

/** What of it costs what. */
function partsOf(name: string, { parts }: Run): readonly Finding[] {
  const words = {
    kernel: 'in the kernel as packets come',
    user: 'in the program',
    system: 'in the kernel for the program',
  } as const
  return (['kernel', 'user', 'system'] as const)
    .filter((part) => parts[part] > 0)
    .map((part) => told(`  ${name}: ${words[part]}`, parts[part], 's/Mpkt'))
}

/** A line that nothing is asked of. */
function told(name: string, value: number, unit: string): Finding {
  return { name, value, unit, target: 'none', isMet: true }
}
