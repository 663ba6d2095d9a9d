import type { CommandHost } from '@steeple/contracts'

type Lines = Readonly<Record<string, unknown>>

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

/** A usage record as the routes of usage and quota answer it. */
export interface Usage {
  readonly imsi_sha256_12: string
  readonly total_bytes: number
  readonly up_bytes: number
  readonly down_bytes: number
  readonly is_incomplete: boolean
  readonly enforcement: string
  readonly throttle?: { readonly bps: number; readonly state: string } | null
  readonly quota_bytes: number | null
  readonly added_bytes: number
  readonly remaining_bytes: number | null
  readonly over_quota: boolean
  readonly overridden: boolean
  readonly action: string | null
  readonly period: string | null
  readonly period_start: string
  readonly period_end: string | null
  readonly time_zone: string
  readonly unknown_reason?: string | null
  readonly known_until?: string | null
  readonly by_source?: Readonly<Record<string, object>>
  readonly series?: readonly {
    readonly at: string
    readonly up_bytes: number
    readonly down_bytes: number
    readonly is_incomplete: boolean
  }[]
}

/** A usage record for people: of the present period; what is as usual is left out. */
export function usageSummary(usage: Usage, octets: CommandHost['octets']): Lines {
  const { enforcement, throttle } = usage
  const more = usage.is_incomplete ? ', or more: some of it may be missing' : ''
  const lines: Lines = {
    SIM: usage.imsi_sha256_12,
    used: `${octets(usage.total_bytes)} (${octets(usage.up_bytes)} up, ${octets(usage.down_bytes)} down)${more}`,
    ...quotaOf(usage, octets),
    period: periodOf(usage),
    enforcement: ['none', 'alert_only'].includes(enforcement) ? undefined : enforcement,
    throttle: throttle ? `${throttle.bps} bit/s (${throttle.state})` : undefined,
    ...unknownOf(usage),
  }
  return Object.fromEntries(
    Object.entries(lines).filter(([, value]) => value !== undefined && value !== null),
  )
}

function quotaOf({ quota_bytes: quota, action, ...usage }: Usage, octets: CommandHost['octets']): Lines {
  if (typeof quota !== 'number') return { quota: 'none' }
  return {
    quota: `${octets(quota)}, then ${
      usage.enforcement === 'alert_only'
        ? `an alert alone: ${action ?? '-'} is not enforced (fairuse.enabled is false)`
        : (action ?? '-')
    }`,
    added: usage.added_bytes === 0 ? undefined : `${octets(usage.added_bytes)} for this period`,
    left: usage.over_quota ? 'nothing' : octets(usage.remaining_bytes),
    overridden: usage.overridden ? 'an operator lets it go on for this period' : undefined,
  }
}

function periodOf({ period, period_start: from, period_end: to, time_zone: zone }: Usage): string {
  const localTime = localTimes(zone)
  const end = typeof to === 'string' ? ` to ${localTime(Date.parse(to))}` : ''
  return `${period ?? '-'}, from ${localTime(Date.parse(from))}${end} ${zone}`
}

/** What is not known now, and why. */
function unknownOf({ unknown_reason: why, known_until: until, time_zone: zone }: Usage): Lines {
  if (typeof why !== 'string') return {}
  const last = typeof until === 'string' ? `after ${localTimes(zone)(Date.parse(until))}` : 'so far'
  return { unknown: `what was used ${last}: ${why}` }
}
