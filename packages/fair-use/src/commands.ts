import { type CommandColumn, type CommandHost, type Commands, countText } from '@steeple/contracts'

const HOUR_MS = 3_600_000
/** How far back a chart goes when nobody says. */
const SPANS_MS = { hour: 24 * HOUR_MS, day: 30 * 24 * HOUR_MS } as const
const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P']
/** Columns when standard output is no screen. */
const PAPER_COLUMNS = 80

/** `svc usage [HASH]`, `svc sim quota HASH` */
export const commands: Commands = {
  usage: async (host) => (host.typed.hash === undefined ? await everybody(host) : await one(host)),
  'sim quota': async (host) => {
    const path = { imsi: host.simHash(String(host.typed.hash)) }
    const body = changeOf(host)
    const data =
      body === undefined
        ? await host.call('GET /v1/sims/{imsi}/usage', { path })
        : await host.call('POST /v1/sims/{imsi}/quota', { path, body })
    if (host.isJson) host.out(host.json(data))
    else host.out(host.fields(usageSummary(data as unknown as Usage, host.octets)))
  },
}

/** How much one SIM has used, and when. */
async function one(host: CommandHost): Promise<void> {
  const { typed, out, columns } = host
  const by = typed.by === 'hour' ? 'hour' : 'day'
  const to = timeOf(host, '--to', typed.to) ?? Date.now()
  const from = timeOf(host, '--from', typed.from) ?? hourOf(to - SPANS_MS[by])
  if (from >= to) throw host.usage('--from is not before --to')
  const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), step: by }
  const path = { imsi: host.simHash(String(typed.hash)) }
  const data = await host.call('GET /v1/sims/{imsi}/usage', { path, query })
  if (host.isJson) return host.printRecord(data)
  const usage = data as unknown as Usage // as the route documents it
  out(host.fields(usageSummary(usage, host.octets)))
  out(sources(host, usage))
  const steps = stepsOf(usage, { by, from, to, localTime: localTimes(usage.time_zone) })
  out(series(host, steps, columns ?? PAPER_COLUMNS))
}

async function everybody(host: CommandHost): Promise<void> {
  const { typed, octets } = host
  if (typed.by !== undefined && typed.by !== 'day') throw host.usage('--by is of one SIM: name its hash')
  const { period, from, to, limit } = typed
  const data = await host.call('GET /v1/usage', { query: { period, from, to, limit } })
  if (host.isJson) return host.printRecord(data)
  const usage = data as unknown as AllUsage // as the route documents it
  const busiest = usage.busiest_hour
  host.out(
    host.fields({
      from: usage.from,
      used: `${octets(usage.total_bytes)} (${octets(usage.up_bytes)} up, ${octets(usage.down_bytes)} down) by ${countText(usage.sims_count, 'SIM')}`,
      'busiest hour': busiest === null ? undefined : `${busiest.at}, ${octets(busiest.total_bytes)}`,
    }),
  )
  const columns: readonly CommandColumn[] = [
    { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
    { title: 'LABEL', value: 'label' },
    { title: 'UP', value: 'up_bytes', as: 'bytes' },
    { title: 'DOWN', value: 'down_bytes', as: 'bytes' },
    { title: 'TOTAL', value: 'total_bytes', as: 'bytes' },
  ]
  if (usage.sims.length > 0) host.out(`\n${host.table(usage.sims, columns)}`)
}

interface Totals {
  readonly up_bytes: number
  readonly down_bytes: number
  readonly total_bytes: number
}
interface AllUsage extends Totals {
  readonly from: string
  readonly sims_count: number
  readonly busiest_hour: (Totals & { readonly at: string }) | null
  readonly sims: readonly (Totals & { readonly imsi_sha256_12: string })[]
}

function hourOf(ms: number): number {
  return ms - (ms % HOUR_MS)
}

function timeOf({ usage }: CommandHost, option: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(String(text))
  if (Number.isNaN(time)) throw usage(`${option} is a time such as 2026-01-31T00:00:00Z`)
  return time
}

/** What each source saw; one alone says no more than the summary. */
function sources({ table }: CommandHost, { by_source: bySource }: Usage): string {
  const rows = Object.entries(bySource ?? {}).map(([source, of]) => ({ ...of, source }))
  if (rows.length < 2) return ''
  const columns: readonly CommandColumn[] = [
    { title: 'SOURCE', value: 'source' },
    { title: 'UP', value: 'up_bytes', as: 'bytes' },
    { title: 'DOWN', value: 'down_bytes', as: 'bytes' },
  ]
  return `\n${table(rows, columns)}`
}

/** One hour or day. */
interface Step {
  readonly title: string
  readonly upBytes: number
  readonly downBytes: number
  readonly isIncomplete: boolean
}

interface StepOptions {
  readonly by: 'hour' | 'day'
  readonly from: number
  readonly to: number
  readonly localTime: LocalTime
}

const NONE: Omit<Step, 'title'> = { upBytes: 0, downBytes: 0, isIncomplete: false }

/** The hours or days from the first with usage on, those without among them. */
function stepsOf({ series: known = [] }: Usage, { by, from, to, localTime }: StepOptions): readonly Step[] {
  const titleOf = (ms: number): string => localTime(ms).slice(0, by === 'day' ? 10 : 16)
  const steps = new Map<string, Step>()
  // There are zones whose hours begin at the half of ours.
  const shift = Date.parse(known[0]?.at ?? '') % HOUR_MS || 0
  for (let ms = hourOf(from) + shift; ms < to; ms += HOUR_MS)
    steps.set(titleOf(ms), { title: titleOf(ms), ...NONE })
  for (const row of known) {
    const title = titleOf(Date.parse(row.at))
    const { upBytes, downBytes, isIncomplete } = steps.get(title) ?? NONE
    // The hour that comes twice when clocks are put back is one line.
    steps.set(title, {
      title,
      upBytes: upBytes + row.up_bytes,
      downBytes: downBytes + row.down_bytes,
      isIncomplete: isIncomplete || row.is_incomplete,
    })
  }
  const all = [...steps.values()].toSorted((a, b) => (a.title < b.title ? -1 : 1))
  const begin = all.findIndex(({ upBytes, downBytes }) => upBytes + downBytes > 0)
  return begin === -1 ? [] : all.slice(begin)
}

function series({ octets }: CommandHost, steps: readonly Step[], width: number): string {
  if (steps.length === 0) return '\nNothing was used in this time.\n'
  const up = steps.map(({ upBytes }) => octets(upBytes))
  const down = steps.map(({ downBytes }) => octets(downBytes))
  const [upWidth, downWidth] = [up, down].map((all) => Math.max(...all.map(({ length }) => length)))
  const lines = steps.map(({ title, upBytes, downBytes, isIncomplete }, at) => {
    const moved = `${down[at]?.padStart(downWidth ?? 0)} down  ${up[at]?.padStart(upWidth ?? 0)} up`
    return { title, amount: upBytes + downBytes, note: isIncomplete ? `${moved}  or more` : moved }
  })
  return `\n${chart(lines, width)}`
}

/** What is asked for; undefined when it is only to be shown. Throws `usage`. */
function changeOf(host: CommandHost): object | undefined {
  const { bytes, add, none, period, action, throttleBps } = host.typed
  const asked = [bytes, add, none].filter((value) => value !== undefined).length
  if (asked > 1) throw host.usage('--bytes, --add and --none are of one quota at a time')
  const hasTerms = period !== undefined || action !== undefined || throttleBps !== undefined
  if (hasTerms && bytes === undefined)
    throw host.usage('--period, --action and --throttle-bps go with --bytes')
  if (none === true) return { quota_bytes: null }
  if (add !== undefined) return { add_bytes: sizeOf(host, '--add', add) }
  // JSON leaves out what is undefined.
  return bytes === undefined
    ? undefined
    : { quota_bytes: sizeOf(host, '--bytes', bytes), period, action, throttle_bps: throttleBps }
}

/** Octets of `5GB` (units of 1000), `2GiB` (of 1024) or a plain number. */
function sizeOf({ usage }: CommandHost, option: string, text: unknown): number {
  const [, digits, prefix = '', binary] = /^(\d+(?:\.\d+)?)\s?([KMGTP]?)(i?)B?$/i.exec(String(text)) ?? []
  const unit = (binary === 'i' || binary === 'I' ? 1024 : 1000) ** PREFIXES.indexOf(prefix.toUpperCase())
  const octets = Number(digits) * unit
  if (!Number.isSafeInteger(octets) || (binary !== '' && prefix === ''))
    throw usage(
      `${option} is a size such as 5GB, 500MB, 2GiB or a number of octets, not ${JSON.stringify(text)}`,
    )
  return octets
}

/** One line of a chart: what it is of, how much, and what stands behind it. */
interface ChartLine {
  readonly title: string
  readonly amount: number
  readonly note: string
}

/** Eighths of a cell, from none to seven. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const FULL = '█'
const GAP = '  '
/** A bar that is shorter says nothing. */
const SHORTEST = 8
/** A bar that is longer says no more. */
const LONGEST = 60

/** Lines with a bar each, the longest for the largest amount, at most `width` wide; no trailing blanks. */
export function chart(lines: readonly ChartLine[], width: number): string {
  const titleWidth = Math.max(0, ...lines.map(({ title }) => title.length))
  const noteWidth = Math.max(0, ...lines.map(({ note }) => note.length))
  const room = width - titleWidth - noteWidth - 2 * GAP.length
  const barWidth = Math.min(Math.max(room, SHORTEST), LONGEST)
  const most = Math.max(0, ...lines.map(({ amount }) => amount))
  return lines
    .map(({ title, amount, note }) => {
      const bar = most > 0 ? barOf((amount / most) * barWidth) : ''
      return `${[title.padEnd(titleWidth), bar.padEnd(barWidth), note].join(GAP).trimEnd()}\n`
    })
    .join('')
}

/** Anything above nothing is seen. */
function barOf(cells: number): string {
  const eighths = cells > 0 ? Math.max(Math.round(cells * 8), 1) : 0
  return FULL.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
}

type Lines = Readonly<Record<string, unknown>>

/** Writes a time, ms since the epoch, as `2026-11-21 18:52`. */
type LocalTime = (ms: number) => string

/** By the node's time zone: its days begin by that. */
function localTimes(timeZone: string | undefined): LocalTime {
  // The locale whose dates are written so.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timeZone ?? 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return (ms) => (Number.isNaN(ms) ? '-' : format.format(ms))
}

/** A usage record as the routes of usage and quota answer it. */
interface Usage {
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
  readonly throttle_bps?: number | null
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
function usageSummary(usage: Usage, octets: CommandHost['octets']): Lines {
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

function quotaOf(
  { quota_bytes: quota, action, throttle_bps: bps, ...usage }: Usage,
  octets: CommandHost['octets'],
): Lines {
  if (typeof quota !== 'number') return { quota: 'none' }
  return {
    quota: `${octets(quota)}, then ${
      usage.enforcement === 'alert_only'
        ? `an alert alone: ${action ?? '-'} is not enforced (fairuse.enabled is false)`
        : `${action ?? '-'}${typeof bps === 'number' ? ` to ${bps} bit/s` : ''}`
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
