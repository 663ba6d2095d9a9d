import { existsSync } from 'node:fs'
import { BlockList, isIPv4 } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type Context,
  coreDriverRef,
  countText,
  type HssSurvey,
  hssDriverRef,
  isRecord,
  type Settings,
} from '@steeple/contracts'
import { type CoreFilesParts, parseRange } from '@steeple/southbound'
import { parse } from 'yaml'
import { maxUeOf, renderSettings } from './core-plan.ts'
import { type Pool, poolNotes, poolsIn } from './kept-pools.ts'
import { daemonsOf, generationsOf } from './roles.ts'

/**
 * What each daemon sets aside for one phone of `global.max.ue` when it starts, bytes, all daemons of a core together.
 * Measured with 40,000: 5 GB.
 */
const BYTES_OF_ONE = 125_000
/** Worth a word above this. */
const NOTED_BYTES = 1_000_000_000

/** What the settings ask of the machine that the core runs on, for the plan. */
export function machineNotes(settings: Settings): readonly string[] {
  const { policy, core_a, server } = settings
  const maxUe = maxUeOf(policy.max_ues)
  const bytes = maxUe * BYTES_OF_ONE
  const memory =
    `global.max.ue is ${maxUe} for policy.max_ues ${policy.max_ues}: the daemons set about ` +
    `${(bytes / 1e9).toFixed(1)} GB of memory aside`
  const rendered = renderSettings(settings)
  const hasUdm = daemonsOf(generationsOf({ ...rendered, addresses: core_a.addresses })).includes('udm')
  const missing = core_a.hnet
    .map(({ id }) => join(server.data_dir, 'keys', `hnet-${id}.key`))
    .filter((path) => hasUdm && !existsSync(path))
  return [
    ...(bytes >= NOTED_BYTES ? [memory] : []),
    ...missing.map(
      (path) => `${path} is missing, so no phone can conceal who it is with it: run svc node init`,
    ),
  ]
}

/** How long the HSS may take to tell of static addresses, ms. */
const SURVEY_MS = 3_000
/** It reads all subscribers for that: what it told is taken for so long, ms. */
const FRESH_MS = 300_000
const FILE = 'smf.yaml'

type Files = Parameters<NonNullable<CoreFilesParts['refusal']>>[0]

/** What people should know of a change besides what it restarts (memory, pools, static addresses, IPv6), and what forbids it. */
export function planNotes(context: Context): Required<Pick<CoreFilesParts, 'notes' | 'refusal'>> {
  const addresses = staticAddresses(context)
  const pools = (files: Files): Record<'before' | 'after', readonly Pool[]> => {
    const file = files.find(({ path }) => path === FILE)
    return { before: poolsIn(file?.before), after: poolsIn(file?.after) }
  }
  return {
    notes: async (settings, files, signal) => {
      const { before, after } = pools(files)
      const isV6 = ({ subnet }: Pool): boolean => subnet.includes(':')
      const isLost = before.some(isV6) && !after.some(isV6)
      return [
        ...machineNotes(settings),
        ...(isLost
          ? [`${FILE} has IPv6 pools, which go: sessions get addresses of core_a.subnet alone`]
          : []),
        ...poolNotes(before, after),
        ...strangers(after, await addresses(signal)),
        ...(await areaNotes(context, files, signal)),
      ]
    },
    refusal: async (files, signal) => {
      const { before, after } = pools(files)
      if (before.length === 0 || isDeepStrictEqual(before, after)) return undefined
      const known = await addresses(signal)
      // What lies wrong already is no fault of the change.
      const right = known.filter((one) => !before.some((pool) => isStrange(pool, one)))
      const [found] = strangers(after, right)
      return found === undefined ? undefined : `nothing is written: ${found}`
    },
  }
}

/** Files with tracking areas, and the base stations that have them. */
const AREAS = [
  { path: 'mme.yaml', section: 'mme', technology: 'lte' },
  { path: 'amf.yaml', section: 'amf', technology: 'nr' },
] as const
/** How long the core may take to list its base stations, ms. */
const STATIONS_MS = 3_000

/** Tracking areas that the core has no more, and the base stations that this may cost it. */
async function areaNotes(
  { maybe }: Pick<Context, 'maybe'>,
  files: Files,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const notes: string[] = []
  for (const { path, section, technology } of AREAS) {
    const file = files.find((one) => one.path === path)
    const after = tacsIn(file?.after, section)
    const gone = tacsIn(file?.before, section).filter((tac) => !after.includes(tac))
    if (gone.length === 0 || after.length === 0) continue
    const bound = AbortSignal.any([signal, AbortSignal.timeout(STATIONS_MS)])
    const stations = await maybe(coreDriverRef)
      ?.stations?.(technology, bound)
      .catch(() => undefined)
    signal.throwIfAborted()
    const now = stations === undefined ? '' : `; ${countText(stations.length, 'base station')} connected now`
    notes.push(
      `${gone.length === 1 ? 'the tracking area' : 'the tracking areas'} ${gone.join(', ')} ${gone.length === 1 ? 'goes' : 'go'} from ${path}, ` +
        `which then has ${after.join(', ')}: base stations set to another one lose the core${now}`,
    )
  }
  return notes
}

/** The tracking areas of a file's text; none in one that is no YAML. */
function tacsIn(text: string | undefined, section: string): readonly string[] {
  try {
    const file: unknown = parse(text ?? '')
    const part = isRecord(file) ? file[section] : undefined
    const areas = [isRecord(part) ? part.tai : undefined].flat()
    return [
      ...new Set(areas.flatMap((area: unknown) => (isRecord(area) ? [area.tac].flat() : [])).map(String)),
    ]
  } catch {
    return []
  }
}

/** The static addresses of all subscribers, whoever wrote them; none while the HSS does not tell. Asked for now and then. */
function staticAddresses({
  clock,
  maybe,
}: Context): (signal: AbortSignal) => Promise<HssSurvey['addresses']> {
  let known: { readonly atMs: number; readonly addresses: HssSurvey['addresses'] } | undefined
  return async (signal) => {
    const nowMs = clock.monotonicMs()
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known.addresses
    const bound = AbortSignal.any([signal, AbortSignal.timeout(SURVEY_MS)])
    const survey = await maybe(hssDriverRef)
      ?.survey?.(bound)
      .catch(() => undefined)
    signal.throwIfAborted()
    if (survey !== undefined) known = { atMs: nowMs, addresses: survey.addresses }
    return survey?.addresses ?? []
  }
}

/** Static addresses of an APN that the pool of another may give to somebody else as well. */
function strangers(pools: readonly Pool[], addresses: HssSurvey['addresses']): readonly string[] {
  // Of one pool for all nobody's address is another's.
  if (pools.length < 2) return []
  return pools.flatMap((pool) => {
    const theirs = addresses.filter((one) => isStrange(pool, one))
    if (theirs.length === 0) return []
    const { dnn, subnet, ranges } = pool
    const shown = theirs.slice(0, 3).map(({ apn, address }) => `${address} of ${apn}`)
    const more = theirs.length > shown.length ? ` and ${theirs.length - shown.length} more` : ''
    return [
      `${ranges.join(', ') || subnet} becomes the range of the APN ${dnn}, and static addresses of other APNs lie in it, so that two phones ` +
        `may get one: ${shown.join(', ')}${more}. Move them into the range of their APN, or choose another core_a.subnet`,
    ]
  })
}

function isStrange({ dnn, subnet, ranges }: Pool, { apn, address }: HssSurvey['addresses'][number]): boolean {
  if (dnn === undefined || apn === dnn || !isIPv4(address)) return false
  const list = listOf(ranges)
  return ranges.length === 0 ? parseRange(subnet)?.has(address) === true : list.check(address)
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [low = '', high = ''] = range.split('-')
    if (isIPv4(low) && isIPv4(high)) list.addRange(low, high)
  }
  return list
}
