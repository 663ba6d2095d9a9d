import { type Context, type CoreDesired, policyRef } from '@steeple/contracts'
import { readManifest } from '../config-set/read-set.ts'
import type { CoreConfigParts } from './parts.ts'

/** What the core must be set to: the settings, with the policy bundle's APNs over those of the settings. */
export interface Wishes {
  /** As far as is known at once. */
  now(): CoreDesired
  /** Also from the time before this process. */
  settled(): Promise<CoreDesired>
  /** The policy's APNs as text for the manifest; undefined while there is no policy. */
  memo(): string | undefined
}

/**
 * While the policy is not there (it loads after a driver, or cannot be read) its last known APNs count, those of an
 * earlier process included: a start of the service must not set a core to something else for a moment.
 */
export function wishesOf(context: Context, parts: CoreConfigParts): Wishes {
  let known: readonly string[] | undefined
  const policyApns = (): readonly string[] | undefined => {
    try {
      known = context.maybe(policyRef)?.bundle().apns ?? known
    } catch {
      // It cannot be read: the policy's own health says so.
    }
    return known
  }
  const desired = (apns: readonly string[] | undefined): CoreDesired => {
    const { plmn, tac, policy } = context.settings
    return {
      plmn: { mcc: plmn.mcc, mnc: plmn.mnc },
      tac,
      apns: [...(apns ?? policy.apns)],
      maxUes: policy.max_ues,
      addresses: { ...parts.place(context.settings).addresses },
    }
  }
  return {
    now: () => desired(policyApns()),
    memo: () => {
      const apns = policyApns()
      return apns === undefined ? undefined : JSON.stringify({ apns })
    },
    settled: async () => desired(policyApns() ?? (await recorded(parts.place(context.settings).configDir))),
  }
}

/** The policy's APNs when the core was last set to them. */
async function recorded(dir: string): Promise<readonly string[] | undefined> {
  try {
    const { manifest } = await readManifest(dir)
    const read: unknown = JSON.parse(manifest.applied?.memo ?? '{}')
    const apns = (read as { readonly apns?: unknown }).apns // checked below
    return Array.isArray(apns) && apns.every((apn) => typeof apn === 'string') ? apns : undefined
  } catch {
    return undefined // no directory or no manifest: nothing was set before
  }
}
