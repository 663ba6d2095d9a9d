import type { AnswerOf, RequestOf } from '@steeple/client'
import { locale } from '../../text/index.ts'

/** A radio profile with its carrier. */
export type Profile = AnswerOf<'GET', '/v1/tx/profiles'>['profiles'][number]
/** A profile as it is made. */
type ProfileBody = NonNullable<RequestOf<'PUT', '/v1/tx/profiles/{id}'>['body']>
export type Ranges = AnswerOf<'GET', '/v1/spectrum/ranges'>
/** An entry of the allow-list as frequencies. */
export type Range = Ranges['ranges'][number]

/** What changes a profile, or what keeps it off the air. */
export const CHANGES = { on: ['tx.*', 'policy.*', 'settings.*', 'config.*'], everyMs: 30_000 } as const

/** A part of the spectrum, MHz. */
export interface Span {
  readonly low_mhz: number
  readonly high_mhz: number
}

/** A bar of the map, with what it is. */
export interface Bar extends Span {
  readonly key: string
  readonly label: string
  /** `allowed`: an entry that counts here; `elsewhere`: of another country; `carrier`: of a profile. */
  readonly kind: 'allowed' | 'elsewhere' | 'carrier'
  readonly isArmed: boolean
}

export interface BandRow extends Span {
  readonly key: string
  readonly technology: string
  readonly band: string
  /** The band itself; undefined where no entry names it. */
  readonly edges: Span | undefined
  readonly bars: readonly Bar[]
}

/** Of a band that no entry names: what is drawn to either side of a carrier, MHz. */
const AROUND_MHZ = 10

/** The bands that an entry or a profile is in, each with what is allowed and what is sent there, by frequency. */
export function bandRows(
  { country, ranges }: Pick<Ranges, 'country' | 'ranges'>,
  profiles: readonly Profile[],
): readonly BandRow[] {
  const keys = new Set([...ranges, ...profiles].map(keyOf))
  return [...keys]
    .flatMap((key) => {
      const entries = ranges.filter((range) => keyOf(range) === key)
      const carriers = profiles.filter((profile) => keyOf(profile) === key)
      const bars = [
        ...entries.flatMap((entry) => barOfEntry(entry, country)),
        ...carriers.flatMap(barOfCarrier),
      ]
      const edges = entries.flatMap(edgesOf)[0]
      const [technology = '', band = ''] = key.split(' ')
      const around = edges ?? spanOf(bars)
      return around === undefined ? [] : [{ key, technology, band, edges, bars, ...around }]
    })
    .toSorted((a, b) => a.low_mhz - b.low_mhz || a.key.localeCompare(b.key))
}

function keyOf({ technology, band }: { readonly technology: string; readonly band: string | null }): string {
  return `${technology} ${band ?? '?'}`
}

function edgesOf({ band_low_mhz, band_high_mhz }: Range): readonly Span[] {
  return band_low_mhz === null || band_high_mhz === null
    ? []
    : [{ low_mhz: band_low_mhz, high_mhz: band_high_mhz }]
}

function barOfEntry(range: Range, country: string): readonly Bar[] {
  const { low_mhz, high_mhz } = range
  if (low_mhz === null || high_mhz === null) return []
  const kind = range.country === country ? 'allowed' : 'elsewhere'
  const key = `${kind} ${range.country} ${low_mhz} ${high_mhz} ${range.max_eirp_dbm}`
  return [{ key, low_mhz, high_mhz, kind, label: range.country, isArmed: false }]
}

function barOfCarrier({ id, downlink, armed }: Profile): readonly Bar[] {
  return downlink === null
    ? []
    : [{ ...downlink, key: `carrier ${id}`, kind: 'carrier', label: id, isArmed: armed }]
}

function spanOf(bars: readonly Bar[]): Span | undefined {
  if (bars.length === 0) return undefined
  return {
    low_mhz: Math.min(...bars.map(({ low_mhz }) => low_mhz)) - AROUND_MHZ,
    high_mhz: Math.max(...bars.map(({ high_mhz }) => high_mhz)) + AROUND_MHZ,
  }
}

/** Whether all of a span lies in another one. */
export function isWithin(inner: Span, outer: Span): boolean {
  return inner.low_mhz >= outer.low_mhz && inner.high_mhz <= outer.high_mhz
}

/** A frequency as people say it: `2,680 MHz`. */
export function mhzText(mhz: number): string {
  return `${mhz.toLocaleString(locale(), { maximumFractionDigits: 3 })} MHz`
}

/** A part of the spectrum: `2,677.5 – 2,682.5 MHz`. */
export function spanText({ low_mhz, high_mhz }: Span): string {
  return `${low_mhz.toLocaleString(locale(), { maximumFractionDigits: 3 })} – ${mhzText(high_mhz)}`
}

/** A band as the service names it, of what somebody typed: `7`, `B7` and `b7` are b7 of LTE. */
export function bandOf(technology: string, typed: string): string {
  const [, letter, number] = /^\s*([bn]?)\s*0*(\d+)\s*$/i.exec(typed) ?? []
  if (number === undefined) return typed.trim().toLowerCase()
  return `${(letter === '' ? undefined : letter?.toLowerCase()) ?? (technology === 'nr' ? 'n' : 'b')}${number}`
}

/** The technology that a band names by its letter: `n78` is of NR, whatever was chosen. */
export function technologyOf(typed: string): 'lte' | 'nr' | undefined {
  const [, letter] = /^\s*([bn])\s*\d/i.exec(typed) ?? []
  if (letter === undefined) return undefined
  return letter.toLowerCase() === 'n' ? 'nr' : 'lte'
}

/** A radio profile as it is typed. `band` is technology and band, `lte b3`. */
export interface ProfileTyped {
  readonly id: string
  readonly band: string
  /** Which of both says where it lies: `mhz` or `channel`. */
  readonly by: string
  readonly frequency_mhz: string
  readonly channel: string
  readonly bandwidth_mhz: string
  readonly eirp_dbm: string
  readonly tx_gain_db: string
  readonly rx_gain_db: string
}

/** Widths of carriers that all bands of their technology have, or most; the widest first. */
const WIDTHS_MHZ = [20, 10, 5, 3, 1.4]

/** What to begin with in an entry of the allow-list: the widest carrier that its middle has room for, with the power it allows. */
export function typedBand(range: Range): ProfileTyped {
  const { technology, band, low_mhz: low, high_mhz: high, max_eirp_dbm: power } = range
  const room = low === null || high === null ? 0 : high - low
  const middle = low === null || high === null ? '' : String(Math.round((low + high) * 5) / 10)
  const width = WIDTHS_MHZ.find((each) => each <= room) ?? ''
  return {
    ...{ id: '', band: `${technology} ${band}`, by: 'mhz', frequency_mhz: middle, channel: '' },
    ...{ bandwidth_mhz: String(width), eirp_dbm: power === null ? '' : String(power) },
    ...{ tx_gain_db: '', rx_gain_db: '' },
  }
}

/** How a frequency was entered last: `mhz` or `channel`. Kept in this browser. */
const UNIT = 'console.radio.unit'

/** Keeps how a frequency was entered, for the next time that a profile is opened. */
export function keepUnit(by: string): void {
  localStorage.setItem(UNIT, by)
}

/** What somebody would have typed to get that profile: its middle in MHz, unless channels were entered last or it has none. */
export function typedProfile(profile: Profile): ProfileTyped {
  const text = (value: number | null): string => (value === null ? '' : String(value))
  const { downlink } = profile
  const mhz =
    downlink === null ? '' : String(Math.round((downlink.low_mhz + downlink.high_mhz) * 500) / 1_000)
  const by = mhz === '' || localStorage.getItem(UNIT) === 'channel' ? 'channel' : 'mhz'
  return {
    ...{ id: profile.id, band: `${profile.technology} ${profile.band ?? ''}`.trim(), by, frequency_mhz: mhz },
    ...{ channel: text(profile.channel), bandwidth_mhz: text(profile.bandwidth_mhz) },
    ...{ eirp_dbm: text(profile.eirp_dbm), tx_gain_db: text(profile.tx_gain_db) },
    rx_gain_db: text(profile.rx_gain_db),
  }
}

/** The same as the service takes it; what is no number is sent as it is typed, for the service says why not. */
export function profileBody({ id: _, band: chosen, by, ...fields }: ProfileTyped): ProfileBody {
  const [technology = '', band] = chosen.split(' ')
  const other = by === 'mhz' ? 'channel' : 'frequency_mhz'
  const given = Object.entries(fields).filter(([key, text]) => key !== other && text.trim() !== '')
  const numbers = given.map(([key, text]) => {
    const number = Number(text.trim().replace(',', '.'))
    return [key, Number.isNaN(number) ? text : number] as const
  })
  // The schema of the route judges it.
  return {
    technology,
    ...(band === undefined ? {} : { band }),
    ...Object.fromEntries(numbers),
  } as ProfileBody
}
