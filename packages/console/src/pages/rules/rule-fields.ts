import type { AnswerOf, RequestOf } from '@steeple/client'
import { type TextKey, wordsOf } from '../../text/index.ts'
import { bandOf } from '../radio/spectrum.ts'

export type Policy = AnswerOf<'GET', '/v1/policy'>
export type PolicyPatch = NonNullable<RequestOf<'PUT', '/v1/policy'>['body']>

/** A row of the allow-list as it is typed. */
export interface EntryTyped {
  readonly technology: string
  readonly band: string
  readonly low_mhz: string
  readonly high_mhz: string
  readonly earfcn_min: string
  readonly earfcn_max: string
  readonly max_eirp_dbm: string
  readonly country: string
}

/** What is typed into a field: text, a tick, or the rows of the allow-list. */
export type Typed = string | boolean | readonly EntryTyped[]

/** What kind of value a rule has. */
type Kind = 'number' | 'flag' | 'text' | 'moment' | 'lines' | 'entries'

/** One rule: where it stands in the bundle, and what it is called. */
export interface RuleField {
  readonly path: string
  readonly kind: Kind
  /** The part of the page. */
  readonly section: string
  readonly title: TextKey
  readonly help?: TextKey
}

/** The rules that the console knows, in the order of the page. */
const RULES = [
  {
    path: 'spectrum.license.acknowledged',
    kind: 'flag',
    section: 'license',
    title: 'rules.license.acknowledged',
    help: 'rules.license.acknowledged.help',
  },
  { path: 'spectrum.license.reference', kind: 'text', section: 'license', title: 'rules.license.reference' },
  { path: 'spectrum.license.holder', kind: 'text', section: 'license', title: 'rules.license.holder' },
  {
    path: 'spectrum.license.expires_at',
    kind: 'moment',
    section: 'license',
    title: 'rules.license.expires',
    help: 'rules.license.expires.help',
  },
  { path: 'spectrum.allow_list', kind: 'entries', section: 'allow', title: 'rules.allow' },
  { path: 'apns', kind: 'lines', section: 'apns', title: 'rules.apns', help: 'rules.apns.help' },
  {
    path: 'retention_days.sessions',
    kind: 'number',
    section: 'retention',
    title: 'rules.retention.sessions',
  },
  { path: 'retention_days.audit', kind: 'number', section: 'retention', title: 'rules.retention.audit' },
  { path: 'retention_days.metrics', kind: 'number', section: 'retention', title: 'rules.retention.metrics' },
  { path: 'rate_limits.sim_issue_per_hour', kind: 'number', section: 'limits', title: 'rules.limits.issue' },
  {
    path: 'rate_limits.sim_revoke_per_hour',
    kind: 'number',
    section: 'limits',
    title: 'rules.limits.revoke',
  },
  {
    path: 'rate_limits.sim_import_rows_per_hour',
    kind: 'number',
    section: 'limits',
    title: 'rules.limits.import',
  },
  {
    path: 'rate_limits.spectrum_check_per_hour',
    kind: 'number',
    section: 'limits',
    title: 'rules.limits.check',
  },
  { path: 'rate_limits.tx_arm_per_hour', kind: 'number', section: 'limits', title: 'rules.limits.arm' },
  {
    path: 'sim_swap_cooldown_hours',
    kind: 'number',
    section: 'limits',
    title: 'rules.limits.swap',
    help: 'rules.limits.swap.help',
  },
] as const satisfies readonly RuleField[]

/** All rules: behind those that are known the ones that a plugin has words for (`rules.<path>`), by what stands in the bundle. */
export function rulesOf(draft: Draft): readonly RuleField[] {
  const others = Object.keys(draft).filter((path) => !RULES.some((rule) => rule.path === path))
  return [
    ...RULES,
    ...others.map((path): RuleField => {
      const [section = ''] = path.split('.', 1)
      // A plugin's texts are not the console's own: `others` are those that are said.
      const title = `rules.${path}` as TextKey
      const kind = typeof draft[path] === 'boolean' ? 'flag' : 'text'
      return { path, kind, section, title, help: `${title}.help` as TextKey }
    }),
  ]
}

/** The paths of what is in the bundle beside the known rules, and has words. */
function others(policy: Policy): readonly string[] {
  const said = new Set(wordsOf('rules'))
  return Object.entries(policy).flatMap(([section, values]) =>
    typeof values === 'object' && values !== null && !Array.isArray(values)
      ? Object.keys(values)
          .map((key) => `${section}.${key}`)
          .filter((path) => said.has(path) && !RULES.some((rule) => rule.path === path))
      : [],
  )
}

/** The rules as they are typed, by path. */
export type Draft = Readonly<Record<string, Typed>>

/** A row of the allow-list with nothing in it but the country. */
export function emptyEntry(country: string): EntryTyped {
  const none = { low_mhz: '', high_mhz: '', earfcn_min: '', earfcn_max: '', max_eirp_dbm: '' }
  return { technology: 'lte', band: '', ...none, country }
}

/** What somebody would have typed to get these rules. */
export function draftOf(policy: Policy): Draft {
  const own = others(policy).map((path) => {
    const value = valueAt(policy, path)
    return [path, typedOf(typeof value === 'boolean' ? 'flag' : 'text', value)] as const
  })
  return Object.fromEntries([
    ...RULES.map(({ path, kind }) => [path, typedOf(kind, valueAt(policy, path))] as const),
    ...own,
  ])
}

/** The rules whose typed value is another in two drafts. */
export function changedPaths(one: Draft, other: Draft): readonly string[] {
  return Object.keys(one).filter((path) => !isSame(one[path], other[path]))
}

/** What is typed, put on top of rules that somebody else has changed meanwhile: what was touched here stays. */
export function rebased(draft: Draft, base: Draft, theirs: Draft): Draft {
  const own = new Set(changedPaths(base, draft))
  return Object.fromEntries(
    Object.keys(base).map((path) => [path, (own.has(path) ? draft : theirs)[path] ?? '']),
  )
}

/** The changed keys alone, as RFC 7396 has them; and what cannot be sent as it is typed, by path. */
export function patchOf(
  base: Draft,
  draft: Draft,
): { readonly patch: PolicyPatch; readonly wrong: ReadonlySet<string> } {
  const wrong = new Set<string>()
  const patch: Record<string, unknown> = {}
  for (const path of changedPaths(base, draft)) {
    const kind = rulesOf(draft).find((rule) => rule.path === path)?.kind ?? 'text'
    const value = sendable(kind, draft[path] ?? '')
    if (value === undefined) wrong.add(path)
    else put(patch, path.split('.'), value)
  }
  return { patch, wrong }
}

/** A value as a person reads it in a list of differences. */
export function shown(typed: Typed | undefined): string {
  if (typeof typed === 'boolean') return typed ? '✓' : '✗'
  if (typed === undefined || typed === '') return '–'
  if (typeof typed === 'string') return typed.split('\n').join(', ')
  return typed.length === 0 ? '–' : typed.map(entryText).join('; ')
}

function entryText(entry: EntryTyped): string {
  const { technology, band, earfcn_min: min, earfcn_max: max, max_eirp_dbm: power, country } = entry
  const { low_mhz: low, high_mhz: high } = entry
  const channels = min === '' && max === '' ? '' : ` ${min}–${max}`
  const edges = low === '' && high === '' ? '' : ` ${low}–${high} MHz`
  return `${country} ${technology} ${band}${edges}${channels}${power === '' ? '' : ` ≤ ${power} dBm`}`
}

function isSame(one: Typed | undefined, other: Typed | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function valueAt(policy: Policy, path: string): unknown {
  let value: unknown = policy
  for (const key of path.split('.'))
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return value
}

function typedOf(kind: Kind, value: unknown): Typed {
  if (kind === 'flag') return value === true
  if (kind === 'lines') return Array.isArray(value) ? value.join('\n') : ''
  if (kind === 'moment') return typeof value === 'string' ? localText(value) : ''
  if (kind === 'entries') return Array.isArray(value) ? value.map(entryTyped) : []
  return value === null || value === undefined ? '' : String(value)
}

function entryTyped(entry: unknown): EntryTyped {
  const text = (key: string): string => {
    const value = typeof entry === 'object' && entry !== null ? Reflect.get(entry, key) : undefined
    return String(value ?? '')
  }
  const [technology, band, country] = [text('technology'), text('band'), text('country')]
  const [low_mhz, high_mhz] = [text('low_mhz'), text('high_mhz')]
  const [earfcn_min, earfcn_max] = [text('earfcn_min'), text('earfcn_max')]
  return {
    technology,
    band,
    low_mhz,
    high_mhz,
    earfcn_min,
    earfcn_max,
    max_eirp_dbm: text('max_eirp_dbm'),
    country,
  }
}

/** What is sent; undefined when it cannot be. */
function sendable(kind: Kind, typed: Typed): unknown {
  if (typeof typed === 'boolean') return typed
  if (typeof typed !== 'string') return entriesOf(typed)
  const text = typed.trim()
  if (kind === 'lines') return text.split(/[\s,]+/).filter((line) => line !== '')
  if (kind === 'number') return numberFrom(text)
  if (kind === 'moment') return text === '' ? null : momentFrom(text)
  return text === '' ? null : text
}

function entriesOf(entries: readonly EntryTyped[]): unknown {
  const values = entries.map(({ technology, band, country, ...numbers }) => {
    const given = Object.entries(numbers).filter(([, text]) => text.trim() !== '')
    const known = given.map(([key, text]) => [key, numberFrom(text)] as const)
    const isWhole = known.every(([, number]) => number !== undefined)
    const name = { technology, band: bandOf(technology, band), country: country.trim().toUpperCase() }
    return isWhole ? { ...name, ...Object.fromEntries(known) } : undefined
  })
  return values.includes(undefined) ? undefined : values
}

function numberFrom(text: string): number | undefined {
  const number = Number(text.trim().replace(',', '.'))
  return text.trim() === '' || Number.isNaN(number) ? undefined : number
}

function momentFrom(text: string): string | undefined {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** As a field of the kind `datetime-local` has it: in the reader's zone. */
function localText(moment: string): string {
  const date = new Date(moment)
  const two = (number: number): string => String(number).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

function put(into: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    into[key] = value
    return
  }
  const inner = into[key]
  const next: Record<string, unknown> = typeof inner === 'object' && inner !== null ? { ...inner } : {}
  into[key] = next
  put(next, rest, value)
}
