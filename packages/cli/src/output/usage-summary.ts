import { isObject, type Json } from '../client/rest-client.ts'
import { octets } from './octets.ts'
import { cell } from './table.ts'

/** Writes a time, ms since the epoch, as `2026-11-21 18:52`. */
export type LocalTime = (ms: number) => string

/** By the node's time zone: its days begin by that. */
export function localTimes(timeZone: unknown): LocalTime {
  // The locale whose dates are written so.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: typeof timeZone === 'string' ? timeZone : 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return (ms) => (Number.isNaN(ms) ? '-' : format.format(ms))
}

/** A usage record for people: of the present period; what is as usual is left out. */
export function usageSummary(body: Json): Json {
  const more = body.is_incomplete === true ? ', or more: some of it may be missing' : ''
  const lines: Json = {
    SIM: body.imsi_sha256_12,
    used: `${octets(body.total_bytes)} (${octets(body.up_bytes)} up, ${octets(body.down_bytes)} down)${more}`,
    ...quotaOf(body),
    period: periodOf(body),
    enforcement: ['none', 'alert_only'].includes(String(body.enforcement)) ? undefined : body.enforcement,
    throttle: isObject(body.throttle)
      ? `${cell(body.throttle.bps)} bit/s (${cell(body.throttle.state)})`
      : undefined,
    ...unknownOf(body),
  }
  return Object.fromEntries(
    Object.entries(lines).filter(([, value]) => value !== undefined && value !== null),
  )
}

function quotaOf({ quota_bytes: quota, ...body }: Json): Json {
  if (typeof quota !== 'number') return { quota: 'none' }
  return {
    quota: `${octets(quota)}, then ${
      body.enforcement === 'alert_only'
        ? `an alert alone: ${cell(body.action)} is not enforced (fairuse.enabled is false)`
        : cell(body.action)
    }`,
    added: body.added_bytes === 0 ? undefined : `${octets(body.added_bytes)} for this period`,
    left: body.over_quota === true ? 'nothing' : octets(body.remaining_bytes),
    overridden: body.overridden === true ? 'an operator lets it go on for this period' : undefined,
  }
}

function periodOf({ period, period_start: from, period_end: to, time_zone: zone }: Json): string {
  const localTime = localTimes(zone)
  const end = typeof to === 'string' ? ` to ${localTime(Date.parse(to))}` : ''
  return `${cell(period)}, from ${localTime(Date.parse(String(from)))}${end} ${cell(zone)}`
}

/** What is not known now, and why. */
function unknownOf({ unknown_reason: why, known_until: until, time_zone: zone }: Json): Json {
  if (typeof why !== 'string') return {}
  const last = typeof until === 'string' ? `after ${localTimes(zone)(Date.parse(until))}` : 'so far'
  return { unknown: `what was used ${last}: ${why}` }
}
