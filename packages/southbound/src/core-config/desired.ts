import { type Context, type CoreDesired, policyRef } from '@steeple/contracts'

/** What the core must be set to now: the settings, with the policy bundle's APNs over them. */
export function desiredOf(context: Context, addresses: Readonly<Record<string, string>>): CoreDesired {
  const { plmn, tac, policy } = context.settings
  const apns = context.maybe(policyRef)?.bundle().apns ?? policy.apns
  return {
    plmn: { mcc: plmn.mcc, mnc: plmn.mnc },
    tac,
    apns: [...apns],
    maxUes: policy.max_ues,
    addresses: { ...addresses },
  }
}
