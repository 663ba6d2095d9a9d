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

/** Health is asked every few seconds: what was well before a change was so that long before it at most, ms. */
const JUST_BEFORE_MS = 15_000

/** Whether a component is not well because the core is being changed: no outage before the plan's time is over. */
export function isAtWork(component: ComponentState, nowMs: number, work?: CoreWork): boolean {
  return AT_WORK.has(component.kind) && isSinceWork(component, nowMs, work)
}

/** Whether it was well until the core was changed, while that goes on. */
export function isSinceWork(component: ComponentState, nowMs: number, work?: CoreWork): boolean {
  const { status, sinceMs, lastOkAtMs = Number.NEGATIVE_INFINITY } = component
  // A clock that was set back brings no plan back into its time.
  if (work === undefined || nowMs < work.sinceMs || nowMs >= work.untilMs || status === 'ok') return false
  // Each change of a status begins anew: what was not well before the change stays an outage.
  return sinceMs >= work.sinceMs && lastOkAtMs >= work.sinceMs - JUST_BEFORE_MS
}

/** An outage with the change of the core that it followed on, if it did. */
export function withChange(incident: Incident, work: CoreWork | undefined): Incident {
  const { kind, sinceMs } = incident
  const afterMs = work === undefined ? -1 : sinceMs - work.sinceMs
  return BY_CHANGE.has(kind) && afterMs >= 0 && afterMs < FOLLOWS_MS
    ? { ...incident, change: work }
    : incident
}
