import type { ComponentState, CoreWork, Incident, IncidentKind } from '@steeple/contracts'

/** What a core takes along while its daemons restart. A radio of this box is none of it, and its transmitter least of all. */
const AT_WORK: ReadonlySet<ComponentState['kind']> = new Set(['core', 'hss', 'collector'])
/** What a change of the core may have caused. */
const BY_CHANGE: ReadonlySet<IncidentKind> = new Set([
  ...(['no_core', 'other_network', 'core_degraded', 'database_gone'] as const),
  ...(['no_radio', 'no_registration', 'nobody_attached'] as const),
])
/** A radio that lost its core, and phones that do not come back, are noticed so long after it, ms. */
const FOLLOWS_MS = 10 * 60_000

/** Whether a component is not well because the core is being changed: no outage before the plan's time is over. */
export function isAtWork({ kind, status, sinceMs }: ComponentState, nowMs: number, work?: CoreWork): boolean {
  if (work === undefined || nowMs >= work.untilMs || status === 'ok') return false
  return AT_WORK.has(kind) && sinceMs >= work.sinceMs
}

/** An outage with the change of the core that it followed on, if it did. */
export function withChange(incident: Incident, work: CoreWork | undefined): Incident {
  const { kind, sinceMs } = incident
  const afterMs = work === undefined ? -1 : sinceMs - work.sinceMs
  return BY_CHANGE.has(kind) && afterMs >= 0 && afterMs < FOLLOWS_MS
    ? { ...incident, change: work }
    : incident
}
