import { type Context, type CoreDesired, policyRef } from '@steeple/contracts'

/** What of the core's settings would be otherwise; what is absent is as it is now. */
export interface CoreChange {
  readonly mcc?: string
  readonly mnc?: string
  readonly tac?: number
  readonly apns?: readonly string[]
}

/** What the core must be set to: the settings, with the policy bundle's APNs, and `change`. Throws while the policy cannot be read. */
export function coreDesired(context: Context, change: CoreChange = {}): CoreDesired {
  const { plmn, tac, policy } = context.settings
  const { apns } = context.use(policyRef).bundle()
  const { mcc = plmn.mcc, mnc = plmn.mnc } = change
  return {
    plmn: { mcc, mnc },
    tac: change.tac ?? tac,
    apns: [...(change.apns ?? apns)],
    maxUes: policy.max_ues,
  }
}
