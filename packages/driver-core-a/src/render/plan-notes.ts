import { existsSync } from 'node:fs'
import { BlockList, isIPv4 } from 'node:net'
import { join } from 'node:path'
import { type Context, type HssSurvey, hssDriverRef, type Settings } from '@steeple/contracts'
import type { CoreFilesParts } from '@steeple/southbound'
import { parse } from 'yaml'
import { maxUeOf, renderSettings } from './core-plan.ts'
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

/** A pool of smf.yaml: which APN its addresses are for; every APN's when it names none. */
interface Pool {
  readonly subnet: string
  readonly dnn: string | undefined
  readonly ranges: readonly string[]
}

/** What people should know of a change besides what it restarts: memory, static addresses, IPv6. */
export function planNotes(context: Context): NonNullable<CoreFilesParts['notes']> {
  const addresses = staticAddresses(context)
  return async (settings, files, signal) => {
    const file = files.find(({ path }) => path === FILE)
    const [before, after] = [poolsIn(file?.before), poolsIn(file?.after)]
    const isV6 = ({ subnet }: Pool): boolean => subnet.includes(':')
    const isLost = before.some(isV6) && !after.some(isV6)
    return [
      ...machineNotes(settings),
      ...(isLost ? [`${FILE} has IPv6 pools, which go: sessions get addresses of core_a.subnet alone`] : []),
      ...strangers(after, await addresses(signal)),
    ]
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
  return pools.flatMap(({ dnn, ranges }) => {
    const list = listOf(ranges)
    const theirs = addresses.filter(
      ({ apn, address }) => dnn !== undefined && apn !== dnn && isIPv4(address) && list.check(address),
    )
    if (theirs.length === 0) return []
    const shown = theirs.slice(0, 3).map(({ apn, address }) => `${address} of ${apn}`)
    const more = theirs.length > shown.length ? ` and ${theirs.length - shown.length} more` : ''
    return [
      `${ranges.join(', ')} becomes the range of the APN ${dnn}, and static addresses of other APNs lie in it, so that two phones ` +
        `may get one: ${shown.join(', ')}${more}. Move them into the range of their APN, or choose another core_a.subnet`,
    ]
  })
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [low = '', high = ''] = range.split('-')
    if (isIPv4(low) && isIPv4(high)) list.addRange(low, high)
  }
  return list
}

function poolsIn(text: string | undefined): readonly Pool[] {
  let smf: unknown
  try {
    smf = (parse(text ?? '') as { smf?: unknown } | null)?.smf // of anybody: each part is checked below
  } catch {
    return [] // a file of somebody else that is no YAML
  }
  const session = (smf as { session?: unknown } | null | undefined)?.session
  return (Array.isArray(session) ? session : []).flatMap((one: unknown) => {
    const { subnet, dnn, range } = (one ?? {}) as { subnet?: unknown; dnn?: unknown; range?: unknown }
    if (typeof subnet !== 'string') return []
    return [
      {
        subnet,
        dnn: typeof dnn === 'string' ? dnn : undefined,
        ranges: (Array.isArray(range) ? range : [range]).filter((part) => typeof part === 'string'),
      },
    ]
  })
}
