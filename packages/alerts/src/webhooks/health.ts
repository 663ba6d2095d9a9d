import { type ComponentHealth, countText } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { AlertParts } from '../parts.ts'
import { type Backlog, backlogs, lastErrorOf } from '../store/delivery-store.ts'
import { refuseUseless } from './judge.ts'
import type { Target } from './target.ts'

/** How long a message may wait before its receiver is not well, ms. */
const LATE_MS = 600_000

/** One component for each receiver: whether it takes what it is sent, and what was given up. */
export async function webhookHealth(parts: AlertParts): Promise<readonly ComponentHealth[]> {
  const { context, metrics } = parts
  const targets = await parts.targets()
  const all = await backlogs(context.db)
  metrics.backlog(all)
  const nowMs = context.clock.nowMs()
  return await Promise.all(
    targets.map(async (target): Promise<ComponentHealth> => {
      const { name } = target
      const backlog = all.get(name)
      const component = { name: `${target.kind}.${name}`, kind: 'feature', chosen: name } as const
      const useless = await uselessBecause(target)
      if (useless !== undefined)
        return { ...component, status: 'degraded', detail: `nothing can be sent: ${useless}` }
      const problem = backlog === undefined ? undefined : problemOf(backlog, nowMs)
      const unsent = parts.unsent.get(name)
      if (unsent !== undefined)
        return { ...component, status: 'degraded', detail: `a message cannot be sent: ${unsent}` }
      if (problem === undefined) return { ...component, status: 'ok', detail: waitingText(backlog) }
      const why = await lastErrorOf(context.db, name)
      return { ...component, status: 'degraded', detail: why === undefined ? problem : `${problem}: ${why}` }
    }),
  )
}

/** Why its configuration or its files let no message go: said at once, not when the first one cannot be sent. */
async function uselessBecause(target: Target): Promise<string | undefined> {
  return await refuseUseless(target).then(() => undefined, safeText)
}

function waitingText(backlog: Backlog | undefined): string {
  return backlog === undefined
    ? 'nothing waits'
    : countText(backlog.waiting, 'message waits', 'messages wait')
}

function problemOf({ target, waiting, parked, oldestAtMs }: Backlog, nowMs: number): string | undefined {
  if (parked > 0)
    return `${countText(parked, 'message was not taken for a day and is parked', 'messages were not taken for a day and are parked')} (svc alert test ${target} --resend sends again what is parked), ${countText(waiting, 'waits', 'wait')}`
  return nowMs - oldestAtMs >= LATE_MS ? countText(waiting, 'message waits', 'messages wait') : undefined
}

/** What a receiver has not taken, and why. */
export async function untakenBy(
  { context, unsent }: AlertParts,
  name: string,
  backlog: Backlog | undefined,
): Promise<object> {
  const why = unsent.get(name)
  return {
    waiting: (backlog?.waiting ?? 0) + (why === undefined ? 0 : 1),
    parked: backlog?.parked ?? 0,
    last_error: why ?? (await lastErrorOf(context.db, name)) ?? null,
  }
}
