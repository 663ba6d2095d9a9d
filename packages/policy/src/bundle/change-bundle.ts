import {
  type AllowListEntry,
  type ErrorDetail,
  isRecord,
  msFromTimestamp,
  type PolicyBundle,
  type SpectrumLicense,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { apnProblem, bandwidthsMhz, downlinkSpan, khzFromMhz, mhzFromKhz } from '@steeple/telecom'
import { allowedRange, channelIn } from '../spectrum/allowed-range.ts'
import type { PolicyContent } from './bundle-schema.ts'
import { CONTENT_SCHEMA } from './bundle-schema.ts'
import { type ChangedKey, changedKeys, isSame } from './changed-keys.ts'
import { isCountryCode } from './country-codes.ts'
import { schemaProblems } from './schema-problems.ts'

/** Who changes the policy, as `acknowledged_by` shows it, and when. */
interface Author {
  readonly by: string
  readonly nowMs: number
}

/** The policy after a change. Without changes `content` is what it was. */
interface ChangedBundle {
  readonly content: PolicyContent
  readonly changes: readonly ChangedKey[]
}

/** A policy as it is shown, or its content alone. */
type ShownPolicy = PolicyContent & Partial<Pick<PolicyBundle, 'revision' | 'updated_at'>>

const READ_ONLY: readonly (readonly string[])[] = [
  ['revision'],
  ['updated_at'],
  ['spectrum', 'license', 'acknowledged_by'],
  ['spectrum', 'license', 'acknowledged_at'],
]

/**
 * The policy with a merge patch (RFC 7396) applied and the whole result validated. What is read-only may come back as it was
 * shown: a client reads the whole, changes a part and sends the whole.
 *
 * A license that is acknowledged and differs from the one before is stamped with the author; one that is not
 * acknowledged loses its stamp. Throws `validation_failed` with one detail for each problem.
 */
export function changeBundle(shown: ShownPolicy, patch: unknown, author: Author): ChangedBundle {
  refuse(readOnlyProblems(shown, patch))
  const current = contentOf(shown)
  const merged = withNulls(contentOf(mergePatch(shown, patch)))
  refuse(schemaProblems(CONTENT_SCHEMA, merged))
  // The schema check above is the condition of the type.
  const valid = merged as PolicyContent
  refuse(bundleProblems(valid))
  const license = stamped(current.spectrum.license, valid.spectrum.license, author)
  const content: PolicyContent = { ...valid, spectrum: { ...valid.spectrum, license } }
  return { content, changes: changedKeys(current, content) }
}

function refuse(problems: readonly ErrorDetail[]): void {
  if (problems.length === 0) return
  const shown = problems.slice(0, 3).map(({ pointer, message }) => `${pointer || 'the body'} ${message}`)
  const more = problems.length > shown.length ? `, and ${problems.length - shown.length} more` : ''
  throw validationFailed(`the policy is not valid: ${shown.join('; ')}${more}`, { details: problems })
}

function readOnlyProblems(shown: ShownPolicy, patch: unknown): readonly ErrorDetail[] {
  return READ_ONLY.filter((path) => {
    const wanted = memberOf(patch, path)
    return wanted !== undefined && wanted !== memberOf(shown, path)
  }).map((path) => ({
    pointer: `/${path.join('/')}`,
    message: 'is read-only: the service sets it; leave it out (If-Match holds the revision)',
  }))
}

function memberOf(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (part, key) => (isRecord(part) && Object.hasOwn(part, key) ? part[key] : undefined),
    value,
  )
}

function contentOf<T>(shown: T): T {
  if (!isRecord(shown)) return shown
  const { revision: _revision, updated_at: _updatedAt, ...content } = shown
  return content as T // What is left of it has the type that it had.
}

/** A merge patch removes what it sets to null; these members say null when there is nothing. */
function withNulls(merged: unknown): unknown {
  const spectrum = isRecord(merged) ? merged.spectrum : undefined
  const license = isRecord(spectrum) ? spectrum.license : undefined
  if (!isRecord(merged) || !isRecord(spectrum) || !isRecord(license)) return merged
  const nulls = { reference: null, holder: null, expires_at: null }
  const stamps = { acknowledged_by: null, acknowledged_at: null }
  return { ...merged, spectrum: { ...spectrum, license: { ...nulls, ...stamps, ...license } } }
}

function stamped(before: SpectrumLicense, after: SpectrumLicense, author: Author): SpectrumLicense {
  const expiresMs = after.expires_at === null ? undefined : msFromTimestamp(after.expires_at)
  const license = { ...after, expires_at: expiresMs === undefined ? null : timestampFromMs(expiresMs) }
  if (!license.acknowledged) return { ...license, acknowledged_by: null, acknowledged_at: null }
  if (isSame(before, license)) return license
  return { ...license, acknowledged_by: author.by, acknowledged_at: timestampFromMs(author.nowMs) }
}

/** What a bundle that follows the schema still says wrongly: a JSON pointer and a sentence each. */
export function bundleProblems(content: PolicyContent): readonly ErrorDetail[] {
  const apns = content.apns.flatMap((apn, at) => sentence(`/apns/${at}`, apnProblem(apn)))
  const entries = content.spectrum.allow_list.flatMap((entry, at) =>
    entryProblems(entry, `/spectrum/allow_list/${at}`),
  )
  return [...apns, ...twins(content.apns), ...entries, ...expiryProblems(content.spectrum.license.expires_at)]
}

/** TS 23.003 §9.1: labels are compared without regard to case, so a core sees one APN where two are written. */
function twins(apns: readonly string[]): readonly ErrorDetail[] {
  const lower = apns.map((apn) => apn.toLowerCase())
  return lower.flatMap((apn, at) =>
    lower.indexOf(apn) === at ? [] : sentence(`/apns/${at}`, 'differs from another only in case'),
  )
}

function entryProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const country = isCountryCode(entry.country)
    ? []
    : sentence(`${pointer}/country`, `is no ISO 3166-1 alpha-2 code: ${entry.country}`)
  return [...country, ...bandProblems(entry, pointer)]
}

function bandProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { technology, band } = entry
  if (bandwidthsMhz(technology, band) === undefined) {
    return sentence(`${pointer}/band`, `there is no ${technology} band ${band}`)
  }
  const limits = (['earfcn_min', 'earfcn_max'] as const).flatMap((key) => {
    const channel = entry[key]
    const isPlaced = channel === undefined || channelIn(technology, band, channel) !== undefined
    return isPlaced
      ? []
      : sentence(`${pointer}/${key}`, `channel ${channel} is no downlink channel of ${band}`)
  })
  return [...limits, ...edgeProblems(entry, pointer), ...orderProblems(entry, pointer)]
}

/** Both edges of a licensed block lie in its band, and each edge is given once. */
function edgeProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { technology, band } = entry
  const span = downlinkSpan(technology, band)
  return (['low', 'high'] as const).flatMap((side) => {
    const edge = entry[`${side}_mhz`]
    const channel = side === 'low' ? 'earfcn_min' : 'earfcn_max'
    if (edge === undefined) return []
    if (entry[channel] !== undefined)
      return sentence(`${pointer}/${side}_mhz`, `give ${side}_mhz or ${channel}, not both`)
    if (span === undefined) return sentence(`${pointer}/${side}_mhz`, `${band} has no downlink`)
    const isInBand = khzFromMhz(edge) >= span.lowKhz && khzFromMhz(edge) <= span.highKhz
    const edges = `${mhzFromKhz(span.lowKhz)} to ${mhzFromKhz(span.highKhz)} MHz`
    return isInBand
      ? []
      : sentence(`${pointer}/${side}_mhz`, `${edge} MHz lies outside the downlink of ${band}, ${edges}`)
  })
}

function orderProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { earfcn_min: first, earfcn_max: last, low_mhz: low, high_mhz: high } = entry
  if (first !== undefined && last !== undefined && first > last)
    return sentence(`${pointer}/earfcn_min`, `must not be above earfcn_max: ${first} > ${last}`)
  const { lowKhz, highKhz } = allowedRange(entry)
  return (low ?? high) !== undefined && lowKhz >= highKhz
    ? sentence(
        `${pointer}/${low === undefined ? 'high' : 'low'}_mhz`,
        'the low edge must be below the high edge',
      )
    : []
}

function expiryProblems(expiresAt: string | null): readonly ErrorDetail[] {
  const isTimestamp = expiresAt === null || msFromTimestamp(expiresAt) !== undefined
  return isTimestamp
    ? []
    : sentence(
        '/spectrum/license/expires_at',
        'must be an RFC 3339 timestamp such as 2030-01-31T00:00:00.000Z',
      )
}

function sentence(pointer: string, message: string | undefined): readonly ErrorDetail[] {
  return message === undefined ? [] : [{ pointer, message }]
}

/**
 * The target after a JSON merge patch: members of the patch replace, `null` removes, objects merge, arrays are whole.
 *
 * Neither argument is changed. Source: RFC 7396 §2.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const members = new Map(Object.entries(isRecord(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else members.set(key, mergePatch(members.get(key), value))
  }
  // fromEntries makes own members of any name, `__proto__` too.
  return Object.fromEntries(members)
}
