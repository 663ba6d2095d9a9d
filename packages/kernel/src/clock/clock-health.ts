import type { ClockJudge, ComponentHealth } from '@steeple/contracts'
import { timeText } from './judged-clock.ts'

/** The clock as a component: what it says, or why it is not believed and what to do. */
export function clockHealth({
  machineMs,
  serviceMs,
  doubt,
}: ReturnType<ClockJudge['view']>): ComponentHealth {
  const about = { name: 'clock', kind: 'feature', required: false } as const
  if (doubt === undefined) return { ...about, status: 'ok', detail: 'plausible' }
  const detail =
    `${doubt}. The service goes by ${timeText(serviceMs)}; nothing expires, is removed for its age or is renewed. ` +
    `Set the clock right, or when ${timeText(machineMs)} is right: svc clock confirm`
  return { ...about, status: 'degraded', detail }
}
