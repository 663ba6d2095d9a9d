import { type Signal, signal } from '@preact/signals'
import { locale, t } from '../text/index.ts'

/** Move on so that "2 minutes ago" and "20 seconds ago" stay true. */
const [minutes, seconds] = [30_000, 5_000].map((everyMs) => {
  const now = signal(Date.now())
  setInterval(() => {
    now.value = Date.now()
  }, everyMs)
  return now
}) as [Signal<number>, Signal<number>]

/** Units with their lengths, ms, and how many of them are one of the next. */
const UNITS = [
  ['second', 1_000, 60],
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, Number.POSITIVE_INFINITY],
] as const

/** A moment (RFC 3339) in the reader's zone, UTC on hover; `relative`: how long ago or ahead. */
export function Time({
  at,
  relative = false,
  dateOnly = false,
}: {
  readonly at: string
  readonly relative?: boolean
  readonly dateOnly?: boolean
}) {
  // An end that never comes: RFC 5280 §4.1.2.5.
  if (at.startsWith('9999-12-31T')) return <>{t('ui.noEnd')}</>
  const date = new Date(at)
  const text = relative
    ? // What has happened since the last half minute is not ahead.
      agoText(date.getTime() - Math.max(nowFor(date), Date.now()))
    : (dateOnly ? dayFormat() : momentFormat()).format(date)
  const utc = date
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')
  return (
    <time
      dateTime={at}
      class={relative ? 'tight' : ''}
      title={relative ? `${fullFormat().format(date)} · ${utc}` : utc}
    >
      {text}
    </time>
  )
}

/** Whoever reads it is drawn again when it moves on. */
function nowFor(date: Date): number {
  return (Math.abs(date.getTime() - Date.now()) < 60_000 ? seconds : minutes).value
}

/** The time of day of a moment (RFC 3339) in the reader's zone: `14:02`. */
export function clockText(at: string): string {
  return clockFormat().format(new Date(at))
}

/** How long something went on; a dash, which says so, while it has no end. */
export function Lasted({ from, to }: { readonly from: string; readonly to: string | null }) {
  if (to === null) return <abbr title={t('parts.goesOn')}>–</abbr>
  return <>{durationText(Date.parse(to) - Date.parse(from))}</>
}

/** Formats are dear to make: once each, when the language is known. */
const dayFormat = once(() => new Intl.DateTimeFormat(locale(), { dateStyle: 'medium' }))
const momentFormat = once(
  () => new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }),
)
const clockFormat = once(() => new Intl.DateTimeFormat(locale(), { timeStyle: 'short' }))
const fullFormat = once(() => new Intl.DateTimeFormat(locale(), { dateStyle: 'short', timeStyle: 'medium' }))
const agoFormat = once(() => new Intl.RelativeTimeFormat(locale(), { numeric: 'auto', style: 'long' }))

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

function agoText(ms: number): string {
  const [unit, size] = UNITS.find(([, length, most]) => Math.abs(Math.round(ms / length)) < most) ?? UNITS[3]
  return agoFormat().format(Math.round(ms / size), unit)
}

/** A length of time as people say it: `2 h 5 min`, `0.4 s`. */
export function durationText(ms: number): string {
  if (ms < 10_000) return `${(ms / 1_000).toLocaleString(locale(), { maximumFractionDigits: 1 })} s`
  const seconds = Math.round(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${seconds} s`
  const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 1_440)]
  if (days > 0) return `${days} d ${hours % 24} h`
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`
}
