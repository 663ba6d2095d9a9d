import { existsSync, readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { ConfigSurroundings } from './semantic-checks.ts'

/** Metrics that alert rules may name: those of the specification, and those that every build has. */
export const BUILT_IN_METRICS: readonly string[] = [
  'svc_sessions_active',
  'svc_sim_state',
  'svc_attach_total',
  'svc_http_request_duration_seconds',
  'svc_kernel_metric_refused_total',
  'svc_nodes_heartbeats_total',
  'svc_policy_spectrum_checks_total',
  'svc_policy_tx_armed',
  'svc_policy_tx_auto_disarms_total',
  'svc_reconcile_duration_seconds',
  'svc_reconcile_queue_depth',
  'svc_reconcile_total',
]

/** What the semantic checks see of this machine. */
export function systemSurroundings(): ConfigSurroundings {
  return {
    interfaces: () => interfaceNames(),
    hasNodeKeys: (dataDir) => existsSync(join(dataDir, 'keys', 'node.key')),
    metrics: BUILT_IN_METRICS,
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
