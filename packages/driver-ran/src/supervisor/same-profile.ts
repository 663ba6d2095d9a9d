import type { RadioProfile } from '@steeple/contracts'

/** Whether two profiles mean the same carrier with the same power, in whatever order their keys are. */
export function isSameProfile(a: RadioProfile, b: RadioProfile): boolean {
  return canonical(a) === canonical(b)
}

function canonical(profile: RadioProfile): string {
  return JSON.stringify(Object.entries(profile).sort(([a], [b]) => (a < b ? -1 : 1)))
}
