import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'

/** Work for one look, ms of processor time: several turns of the scheduler among what else runs. */
const WORK_MS = 150
/** Linux's own numbers of how the processors are waited for. Not in every kernel. */
const PRESSURE = '/proc/pressure/cpu'
/** Slowness that has been counts up to this: some bounds are waited for. */
const MOST_BEFORE = 4

/** How many times longer than on an idle machine work takes here and now; 1 or more. */
function slowness(): number {
  const begunMs = performance.now()
  const begunCpuMs = cpuMs()
  while (cpuMs() - begunCpuMs < WORK_MS) Math.sqrt(Math.random())
  return Math.max(1, (performance.now() - begunMs) / WORK_MS)
}

/**
 * How many times longer work took in the last seconds, as Linux counted it: what is to be judged has been, and the machine
 * may be idle again at the look that follows.
 */
function slownessBefore(): number {
  const [ofLastMinute = 0] = loadavg()
  const share = 1 - pressure()
  return Math.min(
    MOST_BEFORE,
    Math.max(ofLastMinute / availableParallelism(), share > 0 ? 1 / share : MOST_BEFORE),
  )
}

/** Share of the last 10 s in which something waited for a processor; 0 where the kernel does not say. */
function pressure(): number {
  try {
    return Number(/^some avg10=(\d+\.\d+)/.exec(readFileSync(PRESSURE, 'utf8'))?.[1] ?? 0) / 100
  } catch {
    return 0
  }
}

/**
 * A bound in wall time for an idle machine, ms, stretched to this one as it is now and was in the last seconds; twice that,
 * in whole ms, where it is not idle. To be asked after what it bounds. `before`: the slowness of those seconds.
 */
export function stretched(boundMs: number, before: number = slownessBefore()): number {
  const times = Math.max(slowness(), before)
  return times < 1.3 ? boundMs : Math.ceil(2 * boundMs * times)
}

/**
 * Milliseconds of processor time that this thread has used since it began. A bound on the difference of two is a bound
 * on work, and holds on a busy machine as on an idle one.
 */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
