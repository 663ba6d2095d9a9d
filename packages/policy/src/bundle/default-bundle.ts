import { DEFAULT_RATE_LIMITS, type PolicyBundle } from '@steeple/contracts'

/** The part of the bundle that is stored as one document: all but its revision and time. */
export type PolicyContent = Omit<PolicyBundle, 'revision' | 'updated_at'>

/** The policy of a new node: the specification's defaults, nothing allowed on air, APNs of the configuration. */
export function defaultContent(apns: readonly string[]): PolicyContent {
  return {
    retention_days: { sessions: 30, audit: 400, metrics: 90 },
    rate_limits: {
      sim_issue_per_hour: DEFAULT_RATE_LIMITS.sim_issue,
      sim_revoke_per_hour: DEFAULT_RATE_LIMITS.sim_revoke,
      sim_import_rows_per_hour: DEFAULT_RATE_LIMITS.sim_import_rows,
      spectrum_check_per_hour: DEFAULT_RATE_LIMITS.spectrum_check,
      tx_arm_per_hour: DEFAULT_RATE_LIMITS.tx_arm,
    },
    sim_swap_cooldown_hours: 24,
    mesh: { allow_route_advertise: false },
    apns,
    spectrum: {
      allow_list: [],
      license: {
        acknowledged: false,
        reference: null,
        holder: null,
        expires_at: null,
        acknowledged_by: null,
        acknowledged_at: null,
      },
    },
  }
}
