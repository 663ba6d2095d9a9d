import { type ComponentState, countText } from '@steeple/contracts'
import { type HeartbeatRow, STALE_INTERVALS } from './node-store.ts'

/** One component of an agent as kept with its heartbeat. Times are ms since the epoch. */
export interface AgentComponent {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail: string
  readonly sinceMs: number
  readonly lastOkAtMs?: number
}

/** A clock that is further off spoils certificates, one-time codes and the order of records. */
const MAX_SKEW_MS = 10_000

/** Whether the newest heartbeat is older than three of its intervals. */
export function isStale(heartbeat: HeartbeatRow, nowMs: number): boolean {
  return nowMs - heartbeat.received_at_ms > STALE_INTERVALS * heartbeat.interval_ms
}

/** The components that came with a heartbeat. */
export function componentsOf(heartbeat: HeartbeatRow): readonly AgentComponent[] {
  // The column is written by this package alone and its row is checksummed.
  return JSON.parse(heartbeat.components) as readonly AgentComponent[]
}

/** Why an agent's own report makes its node degraded: no heartbeat, or a component that is down. */
export function agentTrouble(heartbeat: HeartbeatRow, nowMs: number): string | undefined {
  if (isStale(heartbeat, nowMs)) return 'no heartbeat'
  // Most are well, and their text need not be parsed to see it.
  if (!heartbeat.components.includes('"down"')) return undefined
  const down = componentsOf(heartbeat).filter(({ status }) => status === 'down')
  return down.length === 0 ? undefined : `down: ${down.map(({ name }) => name).join(', ')}`
}

/** What `GET /v1/health` shows of an agent: its heartbeat, then what it reported that is not well. */
export function agentStates(heartbeat: HeartbeatRow, nowMs: number, name: string): readonly ComponentState[] {
  return allAgentStates(heartbeat, nowMs, name).filter(({ status }, i) => i === 0 || status !== 'ok')
}

/** What was made of a heartbeat that is not stale: a thousand are looked at some times a minute. */
const made = new WeakMap<
  HeartbeatRow,
  { readonly name: string; readonly states: readonly ComponentState[] }
>()

/** The same with all that it reported. */
export function allAgentStates(
  heartbeat: HeartbeatRow,
  nowMs: number,
  name: string,
): readonly ComponentState[] {
  const known = made.get(heartbeat)
  if (known?.name === name && !isStale(heartbeat, nowMs)) return known.states
  const prefix = `node/${heartbeat.node_id}`
  const reported = componentsOf(heartbeat).map(
    (component): ComponentState => ({
      name: `${prefix}/${component.name}`,
      kind: 'peer',
      status: component.status,
      detail: component.detail,
      required: false,
      sinceMs: component.sinceMs,
      lastOkAtMs: component.lastOkAtMs,
      box: name,
    }),
  )
  const states = [heartbeatState(heartbeat, prefix, nowMs, name), ...reported]
  if (!isStale(heartbeat, nowMs)) made.set(heartbeat, { name, states })
  return states
}

function heartbeatState(heartbeat: HeartbeatRow, name: string, nowMs: number, box: string): ComponentState {
  const common = {
    ...({ name, kind: 'peer', required: false, lastOkAtMs: heartbeat.received_at_ms } as const),
    box,
  }
  const of = box === '' ? '' : `${box}: `
  if (isStale(heartbeat, nowMs)) {
    const sinceMs = heartbeat.received_at_ms + STALE_INTERVALS * heartbeat.interval_ms
    const silentS = Math.floor((nowMs - heartbeat.received_at_ms) / 1_000)
    return { ...common, status: 'down', detail: `${of}no heartbeat for ${silentS} s`, sinceMs }
  }
  const skewMs = heartbeat.at_ms - heartbeat.received_at_ms
  const isSkewed = Math.abs(skewMs) > MAX_SKEW_MS
  const way = skewMs > 0 ? 'ahead' : 'behind'
  const well = heartbeat.components.match(/"status":"ok"/g)?.length ?? 0
  const detail = isSkewed
    ? `its clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${way}`
    : `heartbeats come; ${countText(well, 'part is', 'parts are')} well`
  // It answers, so it is not silent.
  return {
    ...common,
    status: isSkewed ? 'degraded' : 'ok',
    detail: of + detail,
    incident: 'part',
    sinceMs: heartbeat.fresh_since_ms,
  }
}
