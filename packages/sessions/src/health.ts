import { type ComponentHealth, type Context, sectionOf, timestampFromMs } from '@steeple/contracts'
import { intervalMs, type SourceTimes } from './usage-ledger.ts'

const LATE_AFTER = 4
const DAY_MS = 86_400_000

/** Whether what is known of sessions is of now. A source that does not answer ends no session, but that is said. */
export function sessionHealth(context: Context, times: SourceTimes): ComponentHealth {
  const base = { name: 'sessions', kind: 'feature' } as const
  if (sectionOf(context.settings, 'collector').enabled !== true)
    return { ...base, status: 'ok', detail: 'collector.enabled is false: nobody looks for sessions' }
  const nowMs = context.clock.nowMs()
  const lateMs = LATE_AFTER * intervalMs(context)
  const sources = [...times.all()].filter(({ at_ms: atMs }) => nowMs - atMs < DAY_MS)
  const late = sources.filter(({ at_ms: atMs }) => nowMs - atMs > lateMs)
  if (late.length > 0) {
    const words = late.map(({ source, at_ms: atMs }) => `${source} since ${timestampFromMs(atMs)}`)
    return {
      ...base,
      status: 'degraded',
      detail: `not all was seen: ${words.join(', ')}; what was not is shown as it was then`,
    }
  }
  const names = sources.map(({ source }) => source)
  return {
    ...base,
    status: 'ok',
    detail: names.length === 0 ? 'no source yet' : `heard of: ${names.join(', ')}`,
  }
}
