import type { AnswerOf } from '@steeple/client'
import { isObject, type Json } from '../client/service.ts'
import { octets } from './octets.ts'
import { cell } from './table.ts'

/** Writes a time, ms since the epoch, as `2026-11-21 18:52`. */
export type LocalTime = (ms: number) => string

/** By the node's time zone: its days begin by that. */
export function localTimes(timeZone: string | undefined): LocalTime {
  // The locale whose dates are written so.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timeZone ?? 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return (ms) => (Number.isNaN(ms) ? '-' : format.format(ms))
}

type Usage = AnswerOf<'POST', '/v1/sims/{imsi}/quota'>

/** A usage record for people: of the present period; what is as usual is left out. */
export function usageSummary(usage: Usage): Json {
  const { enforcement, throttle } = usage
  const more = usage.is_incomplete ? ', or more: some of it may be missing' : ''
  const lines: Json = {
    SIM: usage.imsi_sha256_12,
    used: `${octets(usage.total_bytes)} (${octets(usage.up_bytes)} up, ${octets(usage.down_bytes)} down)${more}`,
    ...quotaOf(usage),
    period: periodOf(usage),
    enforcement: ['none', 'alert_only'].includes(enforcement) ? undefined : enforcement,
    throttle: isObject(throttle) ? `${throttle.bps} bit/s (${cell(throttle.state)})` : undefined,
    ...unknownOf(usage),
  }
  return Object.fromEntries(
    Object.entries(lines).filter(([, value]) => value !== undefined && value !== null),
  )
}

function quotaOf({ quota_bytes: quota, action, ...usage }: Usage): Json {
  if (typeof quota !== 'number') return { quota: 'none' }
  return {
    quota: `${octets(quota)}, then ${
      usage.enforcement === 'alert_only'
        ? `an alert alone: ${cell(action)} is not enforced (fairuse.enabled is false)`
        : cell(action)
    }`,
    added: usage.added_bytes === 0 ? undefined : `${octets(usage.added_bytes)} for this period`,
    left: usage.over_quota ? 'nothing' : octets(usage.remaining_bytes),
    overridden: usage.overridden ? 'an operator lets it go on for this period' : undefined,
  }
}

function periodOf({ period, period_start: from, period_end: to, time_zone: zone }: Usage): string {
  const localTime = localTimes(zone)
  const end = typeof to === 'string' ? ` to ${localTime(Date.parse(to))}` : ''
  return `${cell(period)}, from ${localTime(Date.parse(from))}${end} ${cell(zone)}`
}

/** What is not known now, and why. */
function unknownOf({ unknown_reason: why, known_until: until, time_zone: zone }: Usage): Json {
  if (typeof why !== 'string') return {}
  const last = typeof until === 'string' ? `after ${localTimes(zone)(Date.parse(until))}` : 'so far'
  return { unknown: `what was used ${last}: ${why}` }
}
