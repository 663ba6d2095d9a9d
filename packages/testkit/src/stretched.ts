import { cpuMs } from './cpu-time.ts'

/** Work for one look, ms of processor time: several turns of the scheduler among what else runs. */
const WORK_MS = 150

/**
 * How many times longer than on an idle machine work takes here and now; 1 or more.
 *
 * For bounds in wall time: each is what holds on an idle machine, times this.
 */
function slowness(): number {
  const begunMs = performance.now()
  const begunCpuMs = cpuMs()
  while (cpuMs() - begunCpuMs < WORK_MS) Math.sqrt(Math.random())
  return Math.max(1, (performance.now() - begunMs) / WORK_MS)
}

/** A bound for an idle machine, ms, stretched to this one as it is now; twice that, in whole ms, where it is not idle. */
export function stretched(boundMs: number): number {
  const times = slowness()
  return times < 1.3 ? boundMs : Math.ceil(2 * boundMs * times)
}
