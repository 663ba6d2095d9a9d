import type { Earliest } from '@steeple/clock'
import type { Secrets } from '@steeple/secrets'

/** No clock is right that says a time before these. */
export function earliestOf(known: {
  readonly buildDate?: string
  readonly secrets: Secrets
}): readonly Earliest[] {
  const { buildDate, secrets } = known
  const builtMs = Date.parse(buildDate ?? '')
  const made = { ms: secrets.identity.createdAtMs, of: 'the making of this node' }
  return Number.isNaN(builtMs) ? [made] : [made, { ms: builtMs, of: 'the build of this version' }]
}
