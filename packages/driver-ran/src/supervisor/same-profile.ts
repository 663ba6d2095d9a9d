import type { RadioProfile } from '@steeple/contracts'

/** Whether two profiles mean the same carrier with the same power, in whatever order their keys are. */
export function isSameProfile(a: RadioProfile, b: RadioProfile): boolean {
  return canonical(a) === canonical(b)
}

function canonical(profile: RadioProfile): string {
  return JSON.stringify(Object.entries(profile).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Whether both are the same profile by name and by content. */
export function isSameCarrier(a: NamedProfile, b: NamedProfile): boolean {
  return a.profileId === b.profileId && isSameProfile(a.profile, b.profile)
}

interface NamedProfile {
  readonly profileId: string
  readonly profile: RadioProfile
}
