import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Control groups of version 1 and of version 2. */
const GROUPS = [
  { root: '/sys/fs/cgroup/cpu', file: 'cpu.cfs_quota_us', text: (us: number) => String(us) },
  { root: '/sys/fs/cgroup', file: 'cpu.max', text: (us: number) => `${us} 100000` },
] as const
const PERIOD_US = 100_000

/** Gives a process a share of one core and no more. Undefined where that is not possible: not root, no control groups. */
export function limitCpu(pid: number, share: number): { end(): void } | undefined {
  for (const { root, file, text } of GROUPS) {
    const group = join(root, `svc-bench-${pid}`)
    try {
      mkdirSync(group)
      if (!existsSync(join(group, file))) throw new Error('no such controller')
      writeFileSync(join(group, file), text(Math.round(share * PERIOD_US)))
      writeFileSync(join(group, 'cgroup.procs'), String(pid))
      return { end: () => remove(group) }
    } catch {
      remove(group)
    }
  }
  return undefined
}

function remove(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // It was never made, or its process is still ending: an empty group costs nothing.
  }
}
