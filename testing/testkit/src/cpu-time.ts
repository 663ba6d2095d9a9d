/**
 * Milliseconds of processor time that this thread has used since it began. A bound on the difference of two is a bound
 * on work, and holds on a busy machine as on an idle one.
 */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
