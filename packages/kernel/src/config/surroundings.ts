import { existsSync, readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { ConfigSurroundings } from './semantics.ts'

/** The metrics of the specification, which alert rules may name. */
export const SPECIFIED_METRICS: readonly string[] = [
  'svc_sessions_active',
  'svc_sim_state',
  'svc_attach_total',
]

/** What the semantic checks see of this machine. */
export function systemSurroundings(): ConfigSurroundings {
  return {
    interfaces: () => interfaceNames(),
    hasNodeKeys: (dataDir) => existsSync(join(dataDir, 'keys', 'node.key')),
    metrics: SPECIFIED_METRICS,
  }
}

/** Interfaces without an address are only in sysfs. */
function interfaceNames(): readonly string[] {
  try {
    return readdirSync('/sys/class/net')
  } catch {
    return Object.keys(networkInterfaces())
  }
}
