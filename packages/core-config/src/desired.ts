import { type Context, type CoreDesired, policyRef } from '@steeple/contracts'

/** What the core must be set to: the settings, with the policy bundle's APNs. Throws while the policy cannot be read. */
export function coreDesired(context: Context): CoreDesired {
  const { plmn, tac, policy } = context.settings
  const { apns } = context.use(policyRef).bundle()
  return { plmn: { mcc: plmn.mcc, mnc: plmn.mnc }, tac, apns: [...apns], maxUes: policy.max_ues }
}
